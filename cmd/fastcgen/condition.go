package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"path/filepath"
	"strings"
)

// conditions has Go's type checker look at the conditions in directives, with the package's
// own declarations in sight. C's constants are taken on trust: the C compiler saw them.
func conditions(g *generator, pkg *goPackage) problems {
	const synthetic = "conditions"
	b := &strings.Builder{}
	fmt.Fprintf(b, "package %s\n\nimport \"C\"\n\n", g.d.pkg)
	g.goTypes(b, false)
	for _, c := range g.d.consts {
		fmt.Fprintf(b, "/*line %s:%d:%d*/%s\n", filepath.Base(g.d.path), c.at.Line, c.at.Column, c.text)
	}
	for _, f := range g.d.funcs {
		for _, c := range f.conditions() {
			fmt.Fprintf(b, "func _(%s) { _ = bool(/*line %s:%d:%d*/%s) }\n", goParams(f), filepath.Base(g.d.path), c.at.Line, c.at.Column, c.text)
		}
	}
	fset := pkg.fset
	file, err := parser.ParseFile(fset, synthetic, b.String(), parser.SkipObjectResolution)
	if err != nil {
		return problems{{g.d.pkgAt, "the conditions cannot be read: " + err.Error(), "write plain expressions"}}
	}
	var bad problems
	conf := types.Config{
		FakeImportC: true,
		Importer:    emptyImporter{},
		Error: func(err error) {
			e, ok := err.(types.Error)
			if at := fset.Position(e.Pos); ok && fset.PositionFor(e.Pos, false).Filename == synthetic && at.Filename != synthetic {
				at.Filename = g.d.path
				bad.add(at, e.Msg, "mend the expression: it sees the parameters and the package's declarations")
			}
		},
	}
	_, _ = conf.Check(g.d.pkg, fset, append([]*ast.File{file}, pkg.files...), nil) // errors were heard above
	return bad
}

// emptyImporter gives packages without contents: conditions import nothing.
type emptyImporter struct{}

func (emptyImporter) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}
