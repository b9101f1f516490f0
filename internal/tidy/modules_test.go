package tidy_test

import (
	"testing"

	"evenkeel.dev/internal/tidy"
)

func TestModules(t *testing.T) {
	runRule(t, tidy.CheckModules, []ruleTest{
		{"as it should be", files{
			"go.mod": `module evenkeel.dev

require (
	github.com/google/go-cmp v0.7.0
	golang.org/x/exp v0.0.0-20260824195058-e88cd73687aa
	example.com/other v1.0.0 // indirect
)
`,
			"tools/go.mod": "module evenkeel.dev/tools\n",
			"bench/go.mod": `module evenkeel.dev/bench

require (
	evenkeel.dev v0.0.0
	evenkeel.dev/contrib/etcdturn v0.0.0
	example.com/peer v1.2.3
)

replace (
	evenkeel.dev => ../
	evenkeel.dev/contrib/etcdturn => ../contrib/etcdturn
)
`,
			"contrib/etcdturn/go.mod": `module evenkeel.dev/contrib/etcdturn

require evenkeel.dev v0.0.0

replace evenkeel.dev => ../..
`,
		}, nil},
		{"workspace", files{"bench/go.work": "go 1.26\n"}, []string{
			"bench/go.work:1: a workspace tests the root with the versions of its neighbours",
		}},
		{"new dependency", files{"go.mod": "module evenkeel.dev\n\nrequire example.com/other v1.0.0\n"}, []string{
			"go.mod:3: requires example.com/other, which no arrow draws",
		}},
		{"no replace", files{"e2e/go.mod": "module evenkeel.dev/e2e\n\nrequire evenkeel.dev v0.0.0\n"}, []string{
			`e2e/go.mod:3: replaces evenkeel.dev by ""`,
		}},
		{"version, and too far up", files{"e2e/go.mod": `module evenkeel.dev/e2e

require evenkeel.dev v0.1.0

replace evenkeel.dev => ../..
`}, []string{
			"e2e/go.mod:3: requires evenkeel.dev v0.1.0",
			`e2e/go.mod:3: replaces evenkeel.dev by "../.."`,
		}},
		{"absolute replace", files{"contrib/x/go.mod": `module evenkeel.dev/x

require evenkeel.dev v0.0.0

replace evenkeel.dev => /src/evenkeel
`}, []string{
			"contrib/x/go.mod:1: names its module evenkeel.dev/x",
			`contrib/x/go.mod:3: replaces evenkeel.dev by "/src/evenkeel"`,
		}},
	})
}

func TestModulesUnreadable(t *testing.T) {
	found := tidy.CheckModules(files{"go.mod": "modular\n"}.load(t))
	if len(found) != 1 || found[0].Path != "go.mod" {
		t.Errorf("found %v, want one finding in go.mod", found)
	}
}
