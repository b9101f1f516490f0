package tidy_test

import (
	"testing"

	"evenkeel.dev/internal/tidy"
)

const (
	docA     = "// Package a is a.\npackage a\n"
	exampleA = "package a_test\n\nfunc Example() {\n\t// Output:\n\t// x\n}\n"
)

func TestDocs(t *testing.T) {
	runRule(t, tidy.CheckDocs, []ruleTest{
		{"as it should be", files{
			"doc.go":            "// Package evenkeel is\n// the map: [evenkeel.dev/a], [evenkeel.dev/b], [evenkeel.dev/contrib/x].\npackage evenkeel\n",
			"contrib/x/go.mod":  "module evenkeel.dev/contrib/x\n",
			"contrib/x/x.go":    "package x\n",
			"a/doc.go":          docA,
			"a/example_test.go": "//go:build cgo\n\n" + exampleA,
			"b/doc.go":          "// Package b\n// is b.\npackage b\n",
			"b/b_test.go":       "package b\n\nfunc ExampleX() {\n\t// Unordered output:\n}\n",
		}, nil},
		{"not public", files{
			"internal/a/a.go":   "package a\n",
			"cmd/a/a.go":        "package a\n",
			"gen/main.go":       "package main\n",
			"c/a_test.go":       "package c\n",
			"examples/go.mod":   "module evenkeel.dev/examples\n",
			"examples/x/a.go":   "package x\n",
			"contrib/x/go.mod":  "module evenkeel.dev/contrib/x\n",
			"contrib/x/main.go": "package x\n",
		}, nil},
		{"not on the map", files{
			"doc.go":            "// Package evenkeel is the map: [evenkeel.dev/a/b].\npackage evenkeel\n",
			"a/doc.go":          docA,
			"a/example_test.go": exampleA,
			"contrib/x/go.mod":  "module evenkeel.dev/contrib/x\n",
			"contrib/x/x.go":    "package x\n",
		}, []string{
			"doc.go:2: doc.go does not name the public package evenkeel.dev/a",
			"doc.go:2: doc.go does not name the public package evenkeel.dev/contrib/x",
		}},
		{"nothing", files{"a/a.go": "package a\n"}, []string{
			"a/a.go:1: package a has no doc.go",
			"a/a.go:1: package a has no runnable Example",
		}},
		{"wrong beginning", files{
			"doc.go":            "// Evenkeel is the map: [evenkeel.dev/a].\npackage evenkeel\n",
			"a/doc.go":          "// Package ab is.\n\npackage a\n",
			"a/example_test.go": exampleA,
		}, []string{
			`a/doc.go:3: the package comment does not start with "Package a "`,
			`doc.go:2: the package comment does not start with "Package evenkeel "`,
		}},
		{"example that is not run", files{
			"a/doc.go":          docA,
			"a/example_test.go": "package a_test\n\nfunc Example() {}\n",
		}, []string{
			"a/doc.go:1: package a has no runnable Example",
		}},
	})
}

func TestOptions(t *testing.T) {
	runRule(t, tidy.CheckOptions, []ruleTest{
		{"as it should be", files{"a/a.go": `package a

type Options struct {
	// Window is the window. Default 1s.
	Window int
	Size   int // in bytes, DefaultSize if zero
	// Logger gets warnings. Nil: slog.Default().
	Logger *int
	hidden int
}

type Other struct{ Field int }
`}, nil},
		{"silent", files{"a/a.go": `package a

type Options struct {
	// Window is the window.
	Window int
	X, Y   int // nonzero
	Embedded
	hidden int
}
`}, []string{
			"a/a.go:5: Options.Window does not name its default",
			"a/a.go:6: Options.X does not name its default",
			"a/a.go:7: Options.Embedded does not name its default",
		}},
		{"not public", files{
			"internal/a/a.go": "package a\n\ntype Options struct{ Window int }\n",
			"a/a_test.go":     "package a\n\ntype Options struct{ Window int }\n",
		}, nil},
	})
}
