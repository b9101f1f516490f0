package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// File is what the stages made of a declaration file.
type made struct {
	text     []byte
	warnings []string
}

// generate makes the Go file for the declaration file of that name, by one stage after the other: what is wrong
// in one is said before the next begins.
//
//	parse   the declaration file -> declaration
//	load    the package around it: its other names, #cgo lines, C files
//	ask     the C compiler -> the types of the functions, as debugging information has them
//	match   Go's types and C's -> a plan for each function, a mirror for each struct
//	try     the plans in C, and the conditions in Go, on their compilers
//	file    the text
//	look    the C compiler's assembly -> warnings
func generate(ctx context.Context, path, out string) (*made, error) {
	src, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no file %s: name the declaration file, as in fastcgen dot.go", path)
	} else if err != nil {
		return nil, err
	}
	d, err := parse(path, src)
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "fastcgen-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	pkg, err := load(ctx, d, out, temp)
	if err != nil {
		return nil, err
	}
	if err := pkg.clashes(d).err(); err != nil {
		return nil, err
	}
	tc, err := newToolchain(ctx, pkg)
	if err != nil {
		return nil, err
	}
	g, err := checked(ctx, tc, d, pkg)
	if err != nil {
		return nil, err
	}
	text, err := g.file()
	if err != nil {
		return nil, err
	}
	return &made{text, blocking(ctx, tc, g, pkg)}, nil
}

// checked compares the declarations with C, and has the compilers of C and Go take what is made of them.
func checked(ctx context.Context, tc *toolchain, d *declaration, pkg *goPackage) (*generator, error) {
	facts, err := ask(ctx, tc, d)
	if err != nil {
		return nil, err
	}
	_, foreign := pkg.declared()
	m, bad := match(facts, d, foreign)
	if m == nil {
		return nil, bad.err()
	}
	g := &generator{d: d, importPath: pkg.importPath, m: m}
	if err := append(bad, conditions(g, pkg)...).err(); err != nil {
		return nil, err
	}
	for _, try := range []func(context.Context, *toolchain, *generator) error{tryC, unchecked, overrun} {
		if err := try(ctx, tc, g); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// blocking returns warnings about calls that leaf functions must not make.
func blocking(ctx context.Context, tc *toolchain, g *generator, pkg *goPackage) []string {
	source := g.trial()
	source += handed(ctx, tc, pkg, source)
	s := &search{tc: tc, pkg: pkg, d: g.d, source: source, shim: g.shim(g.d.funcs[0])}
	return s.warnings(ctx)
}
