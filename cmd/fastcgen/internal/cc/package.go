package cc

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/declfile"
)

// Package is the package of a declaration file, without the file generated from it.
type Package struct {
	Shell
	ImportPath string
	holds      bool
	Fset       *token.FileSet
	Files      []*ast.File
	Build      *build.Package
}

func Load(ctx context.Context, d *declfile.File, out, temp string) (*Package, error) {
	base := filepath.Base(d.Path)
	if err := declfile.CheckName(base); err != nil {
		return nil, err
	}
	pkg, err := ReadPackage(ctx, d.Path, declfile.UserTags(d.Build), out, temp)
	if err != nil {
		return nil, err
	}
	if !pkg.holds {
		return nil, fmt.Errorf("%s: its //go:build line leaves this platform out: run fastcgen where it holds", d.Path)
	}
	return pkg, nil
}

// ReadPackage reads the package of the file at path, as a build with tags sees it and without the
// file out.
func ReadPackage(ctx context.Context, path string, tags []string, out, temp string) (*Package, error) {
	near, base := filepath.Split(path)
	dir, err := filepath.Abs(near)
	if err != nil {
		return nil, err
	}
	bctx := build.Default
	bctx.CgoEnabled, bctx.BuildTags = true, append(tags, declfile.DeclarationTag)
	bctx.OpenFile = func(name string) (io.ReadCloser, error) {
		if filepath.Base(name) == filepath.Base(out) {
			return io.NopCloser(strings.NewReader("//go:build ignore\n\npackage ignore\n")), nil
		}
		return os.Open(name)
	}
	bp, err := bctx.ImportDir(dir, 0)
	if _, several := errors.AsType[*build.MultiplePackageError](err); several {
		return nil, fmt.Errorf("%w: a folder has one package: move the files of the other one", err)
	} else if err != nil {
		return nil, err
	}
	names := slices.Concat(bp.GoFiles, bp.CgoFiles)
	pkg := &Package{
		Shell: Shell{dir, temp}, Build: bp, holds: slices.Contains(names, base), Fset: token.NewFileSet(),
	}
	for _, n := range names {
		f, err := parser.ParseFile(pkg.Fset, filepath.Join(near, n), nil,
			parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, declfile.Syntax(err)
		}
		if !declfile.IsDeclaration(f) {
			pkg.Files = append(pkg.Files, f)
		}
	}
	importPath, err := pkg.Run(ctx, "", "go", "list", "-e", "-find", "-tags", declfile.DeclarationTag, "-f",
		"{{.ImportPath}}", ".")
	if err != nil {
		return nil, fmt.Errorf("%s: no import path, which the names of C functions are made from: %w", path, err)
	}
	pkg.ImportPath = strings.TrimSpace(importPath)
	return pkg, nil
}

// Declared returns the names that the package's files declare.
func (pkg *Package) Declared() map[string]token.Position {
	names := map[string]token.Position{}
	scope := pkg.TypeCheck(nil, func(error) {}).Scope()
	for _, name := range scope.Names() {
		names[name] = pkg.Fset.Position(scope.Lookup(name).Pos())
	}
	return names
}

// TypeCheck type-checks the package's files and more, without other packages and without C.
func (pkg *Package) TypeCheck(info *types.Info, report func(error), more ...*ast.File) *types.Package {
	conf := types.Config{FakeImportC: true, Importer: emptyImporter{}, Error: report}
	checked, _ := conf.Check("p", pkg.Fset, append(more, pkg.Files...), info)
	return checked
}

// emptyImporter gives packages without contents, unsafe excepted.
type emptyImporter struct{}

func (emptyImporter) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}

// Clashes finds names that the generated file and another file both declare.
func (pkg *Package) Clashes(d *declfile.File) declfile.Problems {
	var bad declfile.Problems
	names := pkg.Declared()
	for _, n := range d.Declared() {
		if at, ok := names[n.Text]; ok {
			bad.Add(n.At, fmt.Sprintf("%s is declared in %s too", n.Text, at), "rename one")
		}
	}
	for _, n := range []string{"C", "unsafe", "fastc", "runtime", "errors", "syscall", "cgo"} {
		if at, ok := names[n]; ok {
			bad.Add(at, n+" is the name of a package that the generated file imports", "rename it")
		}
	}
	return bad
}
