package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPublishable(t *testing.T) {
	const (
		before = `module evenkeel.dev/contrib/a

go 1.26.0

require (
	evenkeel.dev v0.0.0
	evenkeel.dev/contrib/b v0.0.0
	example.com/x v1.2.3
)

replace evenkeel.dev => ../..

replace evenkeel.dev/contrib/b => ../b
`
		after = `module evenkeel.dev/contrib/a

go 1.26.0

require (
	evenkeel.dev v0.1.0
	evenkeel.dev/contrib/b v0.1.0
	example.com/x v1.2.3
)
`
	)
	got, err := publishable([]byte(before), "v0.1.0")
	if err != nil || strings.TrimSpace(string(got)) != strings.TrimSpace(after) {
		t.Errorf("%v\n%s", err, got)
	}
	if _, err := publishable([]byte("module a\n\nreplace example.com/x => ../x\n"), "v0.1.0"); err == nil {
		t.Error("a module of others is replaced, and nobody minds")
	}
}

func TestVersion(t *testing.T) {
	for version, ok := range map[string]bool{
		"v0.1.0": true, "v1.2.3-rc.1": true, "": false, "banana": false,
		"v1": false, "0.1.0": false, "v2.0.0": false,
	} {
		r := &releaser{top: t.TempDir(), version: version}
		if err := r.writeMods(); (err == nil) != ok || err != nil &&
			!strings.Contains(err.Error(), "write it as v0.1.0") {
			t.Errorf("%q: %v", version, err)
		}
	}
}

func TestLicenceOf(t *testing.T) {
	ours, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		string(ours): "Apache-2.0",
		"The MIT License (MIT)\n\nPermission is hereby granted, free of\ncharge, to any person": "MIT",
		"Redistribution and use in source and binary\nforms, with or without":                   "BSD-2-Clause",
		"Redistribution and use in source and binary forms.\n * Neither the name of Google":     "BSD-3-Clause",
		"All rights reserved.": "",
	} {
		if got := licenceOf(text); got != want {
			t.Errorf("%q, want %q of %.40q", got, want, text)
		}
	}
}

// TestDependencies tests that internal packages count, and what only tests use does not.
func TestDependencies(t *testing.T) {
	dir := t.TempDir()
	mit := "Permission is hereby granted, free of charge\n"
	for name, text := range map[string]string{
		"go.mod": "module evenkeel.dev\n\ngo 1.26.0\n\n" +
			"require (\n\texample.com/linked v1.0.0\n\texample.com/tested v1.0.0\n)\n\n" +
			"replace example.com/linked => ./linked\n\nreplace example.com/tested => ./tested\n",
		"a/a.go":                 "package a\n\nimport _ \"evenkeel.dev/internal/b\"\n",
		"internal/b/b.go":        "package b\n\nimport _ \"example.com/linked\"\n",
		"internal/helper/all.go": "package helper\n\nimport _ \"example.com/tested\"\n",
		"linked/go.mod":          "module example.com/linked\n", "linked/l.go": "package linked\n",
		"linked/LICENSE": mit,
		"tested/go.mod":  "module example.com/tested\n", "tested/t.go": "package tested\n", "tested/LICENSE": mit,
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	deps, err := dependencies(dir)
	if want := (dependency{"example.com/linked", "v1.0.0", "MIT"}); err != nil || len(deps) != 1 || deps[0] != want {
		t.Errorf("%v, %v; want %v alone", deps, err, want)
	}
}
