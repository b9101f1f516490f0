package tidy_test

import (
	"strings"
	"testing"

	"evenkeel.dev/internal/tidy"
)

func TestReadme(t *testing.T) {
	runRule(t, tidy.CheckReadme, []ruleTest{
		{"none", files{}, nil},
		{"one page", files{"README.md": strings.Repeat("x\n", 120), "docs/README.md": strings.Repeat("x\n", 151)}, nil},
		{"too long", files{"README.md": strings.Repeat("x\n", 120) + "x"}, []string{"README.md:121: 121 lines, over 120"}},
		{"many words", files{"README.md": strings.Repeat("x ", 600) + "<!-- and\nothers -->"}, nil},
		{"too many words", files{"README.md": strings.Repeat("x ", 601)}, []string{"README.md:1: 601 words, over 600"}},
	})
}

func TestSize(t *testing.T) {
	long := "package a\n" + strings.Repeat("\n", 500)
	runRule(t, tidy.CheckSize, []ruleTest{
		{"not counted", files{"a/a_test.go": long, "a/testdata/a.go": long, "a/a.go": long[:len(long)-1]}, nil},
		{"too long", files{"internal/a/a.go": long}, []string{"internal/a/a.go:501: 501 lines, over 500"}},
	})
}

func TestPaths(t *testing.T) {
	const (
		home = "/" + "home/ann/src"
		work = "/" + "work/main"
	)
	runRule(t, tidy.CheckPaths, []ruleTest{
		{"paths of something else", files{
			"a.md":   "https://example.com" + home + " x" + work + " ~" + work + " $" + "{X}" + work + " ./x/" + "root/\n",
			"a.test": "\x00" + work,
		}, nil},
		{"one machine's", files{
			"a/testdata/out.txt": "ok\n  at " + work + "/x.go:3\n",
			"Makefile":           "X=" + home + "\n",
			"b.md":               home + "\n",
			"c.go":               "package c // \"" + work + "\"\n",
		}, []string{
			"Makefile:1: names /" + "home/ann, a path on one machine",
			"a/testdata/out.txt:2: names " + work + ", a path on one machine",
			"b.md:1: names /" + "home/ann, a path on one machine",
			"c.go:1: names " + work + ", a path on one machine",
		}},
	})
}
