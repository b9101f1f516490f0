package tidy_test

import (
	"fmt"
	"strings"
	"testing"

	"evenkeel.dev/internal/tidy"
)

// importing returns Go source, its build tag never true, that imports name on line 5.
func importing(file, name string) files {
	return files{file: fmt.Sprintf("//go:build never\n\npackage p\n\nimport _ %q\n", name)}
}

func TestArrowsAllow(t *testing.T) {
	for _, tt := range []struct{ file, imports string }{
		{"gcgate/a.go", "net/http"},
		{"gcgate/httpgate/a.go", "evenkeel.dev/gcgate/client"},
		{"cmd/evenkeel/a.go", "evenkeel.dev/cmd/evenkeel/internal/page"},
		{"cmd/evenkeel/a.go", "github.com/google/pprof/profile"},
		{"loadgen/a.go", "github.com/HdrHistogram/hdrhistogram-go"},
		{"aio/internal/sys/a.go", "golang.org/x/sys/unix"},
		{"gcgate/a_test.go", "evenkeel.dev/gcgate"},
		{"gcgate/a_test.go", "evenkeel.dev/gcgate/testdata/heap"},
		{"gcgate/a_test.go", "github.com/google/go-cmp/cmp"},
		{"gcgate/a_test.go", "github.com/google/go-cmp/cmp/cmpopts"},
		{"contrib/etcdturn/a.go", "go.etcd.io/etcd/client/v3"},
		{"contrib/etcdturn/a.go", "evenkeel.dev/gcgate"},
		{"examples/hello/a.go", "evenkeel.dev/contrib/etcdturn"},
		{"examples/search/a.go", "evenkeel.dev/examples/search/internal/feed"},
		{"bench/a.go", "evenkeel.dev/reqtrace/region"},
		{"bench/gate/peer/a.go", "evenkeel.dev/examples/msgpush/window"},
		{"e2e/a_test.go", "evenkeel.dev"},
	} {
		for _, f := range tidy.CheckArrows(importing(tt.file, tt.imports).load(t)) {
			t.Errorf("%s importing %s: %v", tt.file, tt.imports, f)
		}
	}
}

func TestArrowsForbid(t *testing.T) {
	for _, tt := range []struct{ file, imports string }{
		{"a.go", "evenkeel.dev/aio"},
		{"aio/a.go", "evenkeel.dev/gcgate"},
		{"gcgate/a.go", "evenkeel.dev/gcgate/httpgate"},
		{"gcgate/client/a.go", "evenkeel.dev/gcgate"},
		{"gctrace/a.go", "evenkeel.dev/reqtrace"},
		{"gcgate/a.go", "github.com/google/go-cmp/cmp"}, // not a test
		{"gcgate/a_test.go", "evenkeel.dev/aio"},
		{"gcgate/a_test.go", "evenkeel.dev/aio/testdata/heap"},
		{"loadgen/a.go", "github.com/HdrHistogram/hdrhistogram-gone"},
		{"aio/a_test.go", "golang.org/x/net/html"},
		{"aio/internal/uring/a.go", "golang.org/x/sys/unix"},
		{"bench/a.go", "golang.org/x/sys/unix"},
		{"cmd/evenkeel/internal/page/a.go", "evenkeel.dev/contrib/etcdturn"},
		{"contrib/etcdturn/a.go", "evenkeel.dev/cmd/evenkeel/internal/proc"},
		{"contrib/etcdturn/a.go", "evenkeel.dev/examples/hello"},
		{"examples/hello/a.go", "evenkeel.dev/bench"},
		{"bench/a_test.go", "evenkeel.dev/aio/internal/uring"},
		{"e2e/a_test.go", "evenkeel.dev/cmd/evenkeel/internal/proc"},
		{"e2e/a_test.go", "evenkeel.dev/cmd/evenkeel"},
	} {
		found := tidy.CheckArrows(importing(tt.file, tt.imports).load(t))
		if len(found) != 1 || found[0].Path != tt.file || found[0].Line != 5 {
			t.Errorf("%s importing %s: found %v, want one finding at line 5", tt.file, tt.imports, found)
		}
	}
}

func TestArrowsRow(t *testing.T) {
	runRule(t, tidy.CheckArrows, []ruleTest{
		{"new package", files{"util/a.go": "package util\n", "util/b.go": "package util\n", "cmd/evenkeel/internal/page/x/x.go": "package x\n"}, []string{
			"cmd/evenkeel/internal/page/x/x.go:1: package evenkeel.dev/cmd/evenkeel/internal/page/x is in no row of the import arrows",
			"util/a.go:1: package evenkeel.dev/util is in no row of the import arrows",
		}},
	})
}

func TestArrowsNeeded(t *testing.T) {
	table := `package tidy

var arrows = []arrow{
	{"aio", nil}, {"loadgen", []string{"github.com/HdrHistogram/hdrhistogram-go"}},
	{"cmd/evenkeel", []string{"cmd/evenkeel/internal/page", "loadgen"}},
}
`
	tree := files{
		"internal/tidy/arrows.go": table,
		"aio/a.go":                "package aio\n",
		"loadgen/a.go":            "package loadgen\n\nimport (\n\t_ \"evenkeel.dev/internal/enum\"\n\t_ \"github.com/HdrHistogram/hdrhistogram-go\"\n\t_ \"golang.org/x/net/http2\"\n\t_ \"golang.org/x/net/http2/hpack\"\n)\n",
		"cmd/evenkeel/a.go":       "package main\n\nimport _ \"evenkeel.dev/loadgen\"\n",
		"cmd/evenkeel/a_test.go":  "package main\n\nimport _ \"github.com/google/go-cmp/cmp\"\n",
	}.load(t)
	got := map[string]int{} // what is wrong -> line
	for _, f := range tidy.CheckNeeded(tree) {
		got[f.What] = f.Line
	}
	for what, line := range map[string]int{
		"the row of cmd/evenkeel allows cmd/evenkeel/internal/page, which nothing there imports": 5,
		"tests may import go.uber.org/goleak, and none needs that":                               1,
		"the row of fastc covers no package":                                                     1,
	} {
		if got[what] != line {
			t.Errorf("%q is found in line %d, want %d", what, got[what], line)
		}
		delete(got, what)
	}
	for what := range got {
		for _, used := range []string{"row of aio covers", "row of loadgen ", "allows loadgen", "go-cmp"} {
			if strings.Contains(what, used) {
				t.Errorf("found %q", what)
			}
		}
	}
}

func TestLowLevel(t *testing.T) {
	runRule(t, tidy.CheckLowLevel, []ruleTest{
		{"where it may be", files{
			"aio/internal/uring/a.go": "package uring\n\nimport \"unsafe\"\n",
			"fastc/a.go":              "package fastc\n\nimport \"C\"\n",
			"fastc/a_amd64.s":         "",
			"bench/cgo/a.go":          "package cgo\n\nimport \"C\"\n",
			"aio/testdata/a.go":       "package a\n\nimport \"unsafe\"\n",
		}, nil},
		{"by fastcgen and for it", files{
			"aio/crc_fastc.go":       "// Code generated by fastcgen from crc.go. DO NOT EDIT.\n\n//go:build cgo\n\npackage aio\n\nimport \"C\"\n\nimport \"unsafe\"\n",
			"aio/crc.go":             "//go:build fastcgen\n\npackage aio\n\nimport \"C\"\n",
			"examples/a/crc_zlib.go": "// A file.\n\n//go:build fastcgen && (linux || darwin)\n\npackage a\n\nimport \"C\"\n",
		}, nil},
		{"nearly so", files{
			"aio/a_fastc.go": "// Code generated by hand from crc.go. DO NOT EDIT.\n\npackage aio\n\nimport \"C\"\n",
			"aio/b_fastc.go": "package aio\n\n// Code generated by fastcgen from crc.go. DO NOT EDIT.\nimport \"unsafe\"\n",
			"aio/c.go":       "//go:build fastcgen || linux\n\npackage aio\n\nimport \"C\"\n",
			"aio/d.go":       "//go:build !fastcgen\n\npackage aio\n\nimport \"C\"\n",
			"aio/e.go":       "package aio\n\n//go:build fastcgen\n\nimport \"C\"\n",
			"aio/f_fastc.s":  "// Code generated by fastcgen from crc.go. DO NOT EDIT.\n",
		}, []string{
			`aio/a_fastc.go:5: imports "C"`,
			`aio/b_fastc.go:4: imports "unsafe"`,
			`aio/c.go:5: imports "C"`,
			`aio/d.go:5: imports "C"`,
			`aio/e.go:5: imports "C"`,
			"aio/f_fastc.s:1: assembly in aio",
		}},
		{"elsewhere", files{
			"aio/a.go":              "package aio\n\nimport (\n\t\"io\"\n\t\"unsafe\"\n)\n",
			"aio/a_arm64.s":         "",
			"aio/a_test.go":         "//go:build cgo\n\npackage aio\n\nimport \"C\"\n",
			"fastcserver/a.go":      "package a\n\nimport u \"unsafe\"\n",
			"aio/internal/sysx/a.S": "",
		}, []string{
			`aio/a.go:5: imports "unsafe"`,
			"aio/a_arm64.s:1: assembly in aio",
			`aio/a_test.go:5: imports "C"`,
			"aio/internal/sysx/a.S:1: assembly in aio/internal/sysx",
			`fastcserver/a.go:3: imports "unsafe"`,
		}},
	})
}
