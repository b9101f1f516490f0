package tidy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/internal/tidy"
)

func TestLoad(t *testing.T) {
	tree := files{
		".ci/run":             "#!/bin/sh\n",
		".git/config":         "",
		".gitignore":          "",
		"a/a.go":              "//go:build plan9\n\npackage a\n",
		"a/testdata/b.go":     "not Go",
		"a/a.test":            "\x7fELF\x00",
		"vendor/x/x.go":       "package x\n",
		"examples/.bin/tool":  "",
		"examples/x/_y/y.go":  "package y\n",
		"examples/x/go.extra": "",
	}.load(t)
	got := map[string]bool{} // path -> parsed as Go
	for _, f := range tree.Files {
		got[f.Path] = f.Go != nil
	}
	want := map[string]bool{
		".ci/run": false, ".gitignore": false, "a/a.go": true, "a/testdata/b.go": false, "a/a.test": false,
		"examples/x/_y/y.go": true, "examples/x/go.extra": false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestIgnored(t *testing.T) {
	dir := t.TempDir()
	if tidy.Ignored(dir) != nil {
		t.Skip("needs a temporary directory outside a git work tree")
	}
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Skipf("needs git: %v: %s", err, out)
	}
	written := files{".gitignore": "/out/\n*.test\n", "out/run.json": "", "a.test": "", "a.go": "package a\n"}
	for name, text := range written {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := tidy.Load(os.DirFS(dir), tidy.Ignored(dir))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range tree.Files {
		got = append(got, f.Path)
	}
	if diff := cmp.Diff([]string{".gitignore", "a.go"}, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestSyntax(t *testing.T) {
	runRule(t, tidy.CheckSyntax, []ruleTest{
		{"parses", files{"a/a.go": "package a\n", "a/testdata/b.go": "what?"}, nil},
		{"broken", files{"a/a.go": "package a\n\nfunc {\n"}, []string{
			"a/a.go:3: does not parse: expected 'IDENT', found '{'",
		}},
	})
}
