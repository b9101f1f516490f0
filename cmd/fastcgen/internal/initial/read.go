package initial

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
	"evenkeel.dev/cmd/fastcgen/internal/generate"
)

type cgoFile struct {
	path      string
	file      *ast.File
	build     constraint.Expr
	preambles []cgoPreamble
}

// cgoPreamble is the comment above one import "C", without #cgo lines.
type cgoPreamble struct {
	text string
	at   token.Position
}

// cgoCall is a call C.NAME(...) in it.
type cgoCall struct {
	name  string
	at    token.Position
	args  []ast.Expr
	errno bool // r, err := C.NAME()
}

type cgoUses struct {
	calls     []*cgoCall
	values    map[string]token.Position // names that are not called: types, constants, functions as values
	allocated map[string]bool           // types of which Go has values, and not only pointers to them
}

// cgoOwn are what cgo gives besides C's functions.
var cgoOwn = map[string]bool{
	"CString": true, "CBytes": true, "GoString": true, "GoStringN": true, "GoBytes": true, "malloc": true, "free": true,
}

func importsC(f *ast.File) bool {
	return slices.ContainsFunc(f.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"C"` })
}

// IsOrdinary reports whether f is an ordinary file that uses cgo, and was not meant as a
// declaration file.
func IsOrdinary(f *ast.File) bool {
	for _, g := range f.Comments {
		for _, c := range g.List {
			if strings.HasPrefix(c.Text, decl.DirectivePrefix) || decl.NearDirective.MatchString(c.Text) {
				return false
			}
		}
	}
	return importsC(f) && !decl.IsDeclaration(f) && slices.ContainsFunc(f.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && f.Body != nil
	})
}

func readCgo(path string, fset *token.FileSet, f *ast.File) *cgoFile {
	c := &cgoFile{path: path, file: f}
	c.build, _, _ = decl.BuildConstraint(f) // go build has read it
	for _, declared := range f.Decls {
		g, ok := declared.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		for _, spec := range g.Specs {
			s := spec.(*ast.ImportSpec)
			doc := s.Doc
			if doc == nil {
				doc = g.Doc
			}
			if s.Path.Value != `"C"` || doc == nil {
				continue
			}
			text, at := decl.ReadPreamble(fset, doc)
			c.preambles = append(c.preambles, cgoPreamble{decl.WithoutCgoLines(text), at})
		}
	}
	return c
}

// platformTags returns what the name of a file says about its platform: p_linux_arm64.go is linux
// && arm64.
func platformTags(base string) []string {
	var tags []string
	parts := strings.Split(strings.TrimSuffix(base, ".go"), "_")
	for i := len(parts) - 1; i > 0 && len(tags) < 2 && decl.NamesPlatform("x_"+parts[i]+".go"); i-- {
		tags = append(tags, parts[i])
	}
	slices.Reverse(tags)
	return tags
}

func (u *cgoUses) collect(fset *token.FileSet, f *ast.File, calls bool) {
	var stack []ast.Node
	parent := func(n int) ast.Node {
		for i := len(stack) - 2; i >= 0; i-- {
			if _, ok := stack[i].(*ast.ParenExpr); ok {
				continue
			}
			if n--; n == 0 {
				return stack[i]
			}
		}
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		name, isC := decl.PlainC(n)
		if !isC {
			return true
		}
		at := fset.PositionFor(n.Pos(), false)
		call, ok := parent(1).(*ast.CallExpr)
		if !ok || ast.Unparen(call.Fun) != n {
			if _, star := parent(1).(*ast.StarExpr); !star {
				u.allocated[name] = true
			}
			if _, seen := u.values[name]; !seen {
				u.values[name] = at
			}
			return true
		}
		u.allocated[name] = true // when it is a conversion to a type
		if !calls || cgoOwn[name] {
			return true
		}
		u.calls = append(u.calls, &cgoCall{name: name, at: at, args: call.Args, errno: hasErrno(parent(2))})
		return true
	})
}

// hasErrno reports whether a statement takes two results of one call of C: the second one is errno.
func hasErrno(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		return len(n.Rhs) == 1 && len(n.Lhs) == 2
	case *ast.ValueSpec:
		return len(n.Values) == 1 && len(n.Names) == 2
	}
	return false
}

// typeCheck has Go's type checker say what it knows without other packages and without C.
func typeCheck(pkg *cc.Package) *types.Info {
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{},
	}
	conf := types.Config{FakeImportC: true, Importer: unsafeImporter{}, Error: func(error) {}}
	_, _ = conf.Check("p", pkg.Fset, pkg.Files, info) // what it does not know stays a question
	return info
}

type unsafeImporter struct{ generate.EmptyImporter }

func (i unsafeImporter) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	return i.EmptyImporter.Import(path)
}

// short names a place for a comment: the file without its folder, and the line.
func short(at token.Position) string {
	return fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line)
}
