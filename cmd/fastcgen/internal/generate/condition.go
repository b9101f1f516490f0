package generate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"path/filepath"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
	"evenkeel.dev/cmd/fastcgen/internal/emit"
)

// conditions has Go's type checker read the conditions in directives together with the package.
func conditions(g *emit.File, pkg *cc.Package) decl.Problems {
	const synthetic = "conditions"
	b := &strings.Builder{}
	fmt.Fprintf(b, "package %s\n\nimport \"C\"\n\n", g.Decl.Pkg)
	g.GoTypes(b, false)
	for _, c := range g.Decl.Consts {
		fmt.Fprintf(b, "/*line %s:%d:%d*/%s\n", filepath.Base(g.Decl.Path), c.At.Line, c.At.Column, c.Text)
	}
	for _, f := range g.Decl.Funcs {
		for _, c := range f.Conditions() {
			fmt.Fprintf(b, "func _(%s) { _ = bool(/*line %s:%d:%d*/%s) }\n", decl.GoParams(f),
				filepath.Base(g.Decl.Path), c.At.Line, c.At.Column, c.Text)
		}
	}
	fset := pkg.Fset
	file, err := parser.ParseFile(fset, synthetic, b.String(), parser.SkipObjectResolution)
	if err != nil {
		return decl.Problems{{
			At: g.Decl.PkgAt, What: "the conditions cannot be read: " + err.Error(),
			Do: "write plain expressions",
		}}
	}
	var bad decl.Problems
	conf := types.Config{
		FakeImportC: true,
		Importer:    EmptyImporter{},
		Error: func(err error) {
			e, ok := err.(types.Error)
			if at := fset.Position(e.Pos); ok && fset.PositionFor(e.Pos, false).Filename == synthetic &&
				at.Filename != synthetic {
				at.Filename = g.Decl.Path
				bad.Add(at, e.Msg, "mend the expression: it sees the parameters and the package's declarations")
			}
		},
	}
	_, _ = conf.Check(g.Decl.Pkg, fset, append([]*ast.File{file}, pkg.Files...), nil) // errors were heard above
	return bad
}

// EmptyImporter gives packages without contents: conditions import nothing.
type EmptyImporter struct{}

func (EmptyImporter) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}
