package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// goPackage is the package that a declaration file belongs to, without the file generated from it.
type goPackage struct {
	shell
	importPath string
	holds      bool // the file is one of those that are built
	fset       *token.FileSet
	files      []*ast.File // the ordinary ones, and other generated ones
	cFiles     []string
	cFlags     []string
	cppFlags   []string
	pkgConfig  []string
	ldFlags    []string
}

// load reads the package around a declaration file.
func load(ctx context.Context, d *declaration, out, temp string) (*goPackage, error) {
	base := filepath.Base(d.path)
	if err := checkName(base); err != nil {
		return nil, err
	}
	pkg, err := readPackage(ctx, d.path, userTags(d.build), out, temp)
	if err != nil {
		return nil, err
	}
	if !pkg.holds {
		return nil, fmt.Errorf("%s: its //go:build line leaves this platform out: run fastcgen where it holds", d.path)
	}
	return pkg, nil
}

// readPackage reads the package that the file at path belongs to, as a build with
// tags sees it and without the file out.
func readPackage(ctx context.Context, path string, tags []string, out, temp string) (*goPackage, error) {
	near, base := filepath.Split(path)
	dir, err := filepath.Abs(near) // ${SRCDIR} in flags becomes this
	if err != nil {
		return nil, err
	}
	bctx := build.Default
	bctx.CgoEnabled, bctx.BuildTags = true, append(tags, declarationTag)
	bctx.ReadDir = func(name string) ([]fs.FileInfo, error) { return entries(name, filepath.Base(out)) }
	bp, err := bctx.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	names := slices.Concat(bp.GoFiles, bp.CgoFiles)
	pkg := &goPackage{
		shell: shell{dir, temp}, holds: slices.Contains(names, base), fset: token.NewFileSet(), cFiles: bp.CFiles,
		cFlags: bp.CgoCFLAGS, cppFlags: bp.CgoCPPFLAGS, pkgConfig: bp.CgoPkgConfig, ldFlags: bp.CgoLDFLAGS,
	}
	for _, n := range names {
		f, err := parser.ParseFile(pkg.fset, filepath.Join(near, n), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, syntax(err)
		}
		if !isDeclaration(f) {
			pkg.files = append(pkg.files, f)
		}
	}
	importPath, err := pkg.run(ctx, "", "go", "list", "-e", "-find", "-tags", declarationTag, "-f", "{{.ImportPath}}", ".")
	if err != nil {
		return nil, fmt.Errorf("%s: no import path, which the names of C functions are made from: %w", path, err)
	}
	pkg.importPath = strings.TrimSpace(importPath)
	return pkg, nil
}

// entries lists a directory without one file.
func entries(dir, without string) ([]fs.FileInfo, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var infos []fs.FileInfo
	for _, e := range list {
		if e.Name() == without {
			continue
		}
		if fi, err := e.Info(); err == nil {
			infos = append(infos, fi)
		}
	}
	return infos, nil
}

// declared returns what the package's files declare, with the type expressions of types.
func (pkg *goPackage) declared() (names map[string]token.Position, typeOf map[string]ast.Expr) {
	names, typeOf = map[string]token.Position{}, map[string]ast.Expr{}
	note := func(id *ast.Ident) { names[id.Name] = pkg.fset.Position(id.Pos()) }
	for _, f := range pkg.files {
		for _, decl := range f.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil && decl.Name.Name != "init" && decl.Name.Name != "_" {
					note(decl.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						note(s.Name)
						if s.TypeParams == nil {
							typeOf[s.Name.Name] = s.Type
						}
					case *ast.ValueSpec:
						for _, id := range s.Names {
							if id.Name != "_" {
								note(id)
							}
						}
					}
				}
			}
		}
	}
	return names, typeOf
}

// clashes finds names that the generated file and another file of the package both declare.
func (pkg *goPackage) clashes(d *declaration) problems {
	var bad problems
	names, _ := pkg.declared()
	for _, n := range d.declared() {
		if at, ok := names[n.text]; ok {
			bad.add(n.at, fmt.Sprintf("%s is declared in %s too", n.text, at), "rename one")
		}
	}
	for _, n := range []string{"C", "unsafe", "fastc", "runtime", "errors", "syscall", "time", "cgo"} {
		if at, ok := names[n]; ok {
			bad.add(at, n+" is the name of a package that the generated file imports", "rename it")
		}
	}
	return bad
}

// plainC returns NAME for C.NAME.
func plainC(e ast.Node) (string, bool) {
	if p, ok := e.(*ast.ParenExpr); ok {
		return plainC(p.X)
	}
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	x, ok := sel.X.(*ast.Ident)
	return sel.Sel.Name, ok && x.Name == "C"
}
