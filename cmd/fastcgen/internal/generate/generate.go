package generate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
	"evenkeel.dev/cmd/fastcgen/internal/emit"
	"evenkeel.dev/cmd/fastcgen/internal/match"
	"evenkeel.dev/cmd/fastcgen/internal/reach"
)

// Result is what the stages made of a declaration file.
type Result struct {
	Text     []byte
	Warnings []string
}

// File makes the Go file for the declaration file at path. It reports what is wrong in one stage
// before the next begins.
func File(ctx context.Context, path, out string) (*Result, error) {
	src, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no file %s: name the declaration file, as in fastcgen dot.go", path)
	} else if err != nil {
		return nil, err
	}
	d, err := decl.Parse(path, src)
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "fastcgen-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	pkg, err := cc.Load(ctx, d, out, temp)
	if err != nil {
		return nil, err
	}
	if err := pkg.Clashes(d).Err(); err != nil {
		return nil, err
	}
	tc, err := cc.NewToolchain(ctx, pkg)
	if err != nil {
		return nil, err
	}
	g, err := Checked(ctx, tc, d, pkg)
	if err != nil {
		return nil, err
	}
	text, err := g.Text()
	if err != nil {
		return nil, err
	}
	return &Result{text, Search(ctx, tc, g, pkg).Warnings()}, nil
}

// Checked compares the declarations with C, and has the compilers of C and Go take what is made of
// them.
func Checked(ctx context.Context, tc *cc.Toolchain, d *decl.File, pkg *cc.Package) (*emit.File, error) {
	facts, err := cc.Ask(ctx, tc, d)
	if err != nil {
		return nil, err
	}
	_, foreign := pkg.Declared()
	m, bad := match.Match(facts, d, foreign)
	if m == nil {
		return nil, bad.Err()
	}
	g := &emit.File{Decl: d, ImportPath: pkg.ImportPath, Match: m}
	if err := append(bad, conditions(g, pkg)...).Err(); err != nil {
		return nil, err
	}
	for _, try := range []func(context.Context, *cc.Toolchain, *emit.File) error{tryC, unchecked, overrun} {
		if err := try(ctx, tc, g); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// Search looks for calls that leaf functions must not make.
func Search(ctx context.Context, tc *cc.Toolchain, g *emit.File, pkg *cc.Package) *reach.Report {
	return reach.Search(ctx, tc, pkg, g.Decl, g.Trial(), g.Shim(g.Decl.Funcs[0]))
}
