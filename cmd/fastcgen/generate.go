package main

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strings"
)

// generate returns the Go file for the declaration file of that name.
func generate(ctx context.Context, path, out string) (text []byte, warnings []string, err error) {
	src, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("no file %s: name the declaration file, as in fastcgen dot.go", path)
	} else if err != nil {
		return nil, nil, err
	}
	d, err := parse(path, src)
	if err != nil {
		return nil, nil, ordinary(path, src, err)
	}
	temp, err := os.MkdirTemp("", "fastcgen-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(temp)
	pkg, err := load(ctx, d, out, temp)
	if err != nil {
		return nil, nil, err
	}
	if err := pkg.clashes(d).err(); err != nil {
		return nil, nil, err
	}
	tc, err := newToolchain(ctx, pkg)
	if err != nil {
		return nil, nil, err
	}
	g, err := plans(ctx, tc, d, pkg)
	if err != nil {
		return nil, nil, err
	}
	if err := g.tryC(ctx, tc); err != nil {
		return nil, nil, err
	}
	if err := g.unchecked(ctx, tc); err != nil {
		return nil, nil, err
	}
	if err := g.overrun(ctx, tc); err != nil {
		return nil, nil, err
	}
	text, err = g.file()
	if err != nil {
		return nil, nil, err
	}
	return text, g.blocking(ctx, tc), nil
}

// plans compares the declarations with C and checks their conditions.
func plans(ctx context.Context, tc *toolchain, d *declaration, pkg *goPackage) (*generator, error) {
	facts, err := ask(ctx, tc, d)
	if err != nil {
		return nil, err
	}
	g := &generator{d: d, pkg: pkg, r: newResolver(facts, d, pkg)}
	if err := g.r.bad.err(); err != nil {
		return nil, err
	}
	for _, f := range d.funcs {
		if p := g.r.match(f); p != nil {
			g.plans = append(g.plans, p)
		}
	}
	if err := g.r.bad.err(); err != nil {
		return nil, err
	}
	g.unused()
	g.floats()
	return g, append(g.r.bad, g.conditions()...).err()
}

// ordinary says what to do with a file that is no declaration file since it is one of ordinary cgo.
func ordinary(path string, src []byte, otherwise error) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || !isOrdinary(f) || strings.HasPrefix(string(src), mine) {
		return otherwise
	}
	return problems{{fset.PositionFor(f.Package, false), "this is an ordinary cgo file", "fastcgen -init " + path + " writes its declarations"}}
}
