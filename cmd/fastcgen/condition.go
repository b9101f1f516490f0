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
func (g *generator) conditions() problems {
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
	fset := g.pkg.fset
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
	_, _ = conf.Check(g.d.pkg, fset, append([]*ast.File{file}, g.pkg.files...), nil) // errors were heard above
	return bad
}

// floats finds floating-point constants of C in Go code: cgo gives them with six decimals.
func (g *generator) floats() {
	var uses []name
	for _, c := range g.d.consts {
		uses = append(uses, c.uses...)
	}
	for _, f := range g.d.funcs {
		for _, c := range f.conditions() {
			uses = append(uses, c.uses...)
		}
	}
	for _, n := range uses {
		if k, ok := g.r.facts.number(g.r.facts.consts[n.text]); ok && k.class == float {
			g.r.bad.add(n.at, "C."+n.text+" is a floating-point constant, of which cgo keeps six decimals", "write the number; as an argument in //fastc:call it is exact")
		}
	}
}

// emptyImporter gives packages without contents: conditions import nothing.
type emptyImporter struct{}

func (emptyImporter) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}

// goParams returns a function's parameters as Go writes them.
func goParams(f *funcDecl) string {
	var b strings.Builder
	for i, p := range f.params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.name)
		if i+1 == len(f.params) || f.params[i+1].typ != p.typ {
			b.WriteString(" " + p.typ.String())
		}
	}
	return b.String()
}

// goResults returns a function's results as Go writes them.
func goResults(f *funcDecl) string {
	var list []string
	for i, r := range f.results {
		s := r.typ.String()
		switch {
		case r.name != "" && i+1 < len(f.results) && f.results[i+1].typ == r.typ:
			s = r.name
		case r.name != "":
			s = r.name + " " + s
		}
		list = append(list, s)
	}
	if f.hasError {
		s := "error"
		if f.errName != "" {
			s = f.errName + " error"
		}
		list = append(list, s)
	}
	switch {
	case len(list) == 0:
		return ""
	case len(list) == 1 && !f.named:
		return " " + list[0]
	}
	return " (" + strings.Join(list, ", ") + ")"
}

// unused finds opaque types that no function takes or gives. C makes up a struct for a name
// that it does not know, so that a misspelt one would stay unseen.
func (g *generator) unused() {
	used := map[*typeDecl]bool{}
	var note func(t *goType)
	note = func(t *goType) {
		if t.elem != nil {
			note(t.elem)
		}
		if g := g.r.declared[t.name]; g != nil {
			used[g.decl] = true
		}
	}
	for _, f := range g.d.funcs {
		for _, p := range f.params {
			note(p.typ)
		}
		for _, p := range f.results {
			note(p.typ)
		}
	}
	for _, t := range g.r.order {
		if t.kind == goOpaque && !used[t.decl] {
			g.r.bad.add(t.decl.at, "no function uses "+t.name+", of which C may know no more than the name", "leave it out")
		}
	}
}
