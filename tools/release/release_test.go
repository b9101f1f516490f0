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

func TestUses(t *testing.T) {
	dir := t.TempDir()
	record := func(text string) ([]recorded, error) {
		if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return readRecord(dir)
	}
	pkgs, err := record(`pkg evenkeel.dev/a/b-c, const One = 1
pkg evenkeel.dev/a/b-c, const One Kind
pkg evenkeel.dev/a/b-c, func New(Options) (*T, error)
pkg evenkeel.dev/a/b-c, func Of[T any](T) Value[T]
pkg evenkeel.dev/a/b-c, method (*T) Close() error
pkg evenkeel.dev/a/b-c, type Kind int
pkg evenkeel.dev/a/b-c, type Value[T any] struct
pkg evenkeel.dev/a/b-c, type Options struct, Wait time.Duration
pkg evenkeel.dev/a/b-c, var ErrClosed error
`)
	if err != nil {
		t.Fatal(err)
	}
	const want = `package main

import p_b_c "evenkeel.dev/a/b-c"

const _ = p_b_c.One
var _ = p_b_c.New
var _ *p_b_c.Kind
var _ *p_b_c.Options
var _ = p_b_c.ErrClosed
`
	if text, n := pkgs[0].uses(); text != want || n != 5 {
		t.Errorf("%d names:\n%s", n, text)
	}
	if _, err := record("pkg evenkeel.dev/a (linux-amd64), func F()\n"); err == nil {
		t.Error("a name of some systems only, and nobody minds")
	}
}
