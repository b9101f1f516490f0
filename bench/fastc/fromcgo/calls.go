//go:build cgo && linux

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// edit replaces the bytes from one place to another.
type edit struct {
	from, to int
	text     string
}

// converter changes calls of C's functions in the files of one package.
type converter struct {
	declarations *declarations
	signatures   map[string]*signature
	adapters     []*adapter // that files call
	written      map[string]bool
	left         map[string]string // functions with a declaration that stay C.NAME, and why
	sites, stay  int               // calls that were changed; calls of C's functions that were not
}

// byName returns the declared leaf function of that name in C, nil where there is none.
func (c *converter) byName(cName string) *function {
	for _, f := range c.declarations.functions {
		if f.cName == cName && !f.slow {
			return f
		}
	}
	return nil
}

// convert changes the calls in a file, and puts the adapters that are called first there below it, for its
// preamble has their types.
func (c *converter) convert(name string, text []byte) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	offset := func(p token.Pos) int { return fset.Position(p).Offset }
	var edits []edit
	var below strings.Builder
	var stack []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		call, ok := n.(*ast.CallExpr)
		cName, isC := "", false
		if ok {
			cName, isC = inC(call.Fun)
		}
		if !isC || c.signatures[cName] == nil || cgoOwn[cName] {
			return true
		}
		parent := parentOf(stack)
		a := c.adapter(cName, takesErrno(call, parent), &below)
		outer, inGoString := parent.(*ast.CallExpr)
		if inGoString {
			of, ok := inC(outer.Fun)
			inGoString = ok && of == "GoString"
		}
		if a == nil || a.givesString() && !inGoString {
			c.stay++
			return true
		}
		c.sites++
		edits = append(edits, edit{offset(call.Fun.Pos()), offset(call.Fun.End()), a.name()})
		if a.givesString() {
			edits = append(edits, edit{offset(outer.Fun.Pos()), offset(outer.Fun.End()), ""})
		}
		return true
	})
	if strings.Contains(below.String(), unsafeName) {
		end := file.Name.End()
		for _, decl := range file.Decls {
			if g, ok := decl.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
				end = max(end, g.End())
			}
		}
		edits = append(edits, edit{offset(end), offset(end), "\n\nimport " + unsafeName + " \"unsafe\"\n"})
	}
	changed, err := format.Source(append(apply(text, edits), below.String()...))
	if err != nil {
		return nil, fmt.Errorf("%s: what it became is no Go: %w", name, err)
	}
	return changed, nil
}

// givesString reports whether the leaf function returns a string where C returns a char *.
func (a *adapter) givesString() bool {
	return a.sig.result != "" && types.ExprString(a.results[0].typ) == "string"
}

// adapter returns the adapter of a function, which it writes when it is the first to be called; nil where the
// function stays as it is.
func (c *converter) adapter(cName string, errno bool, to *strings.Builder) *adapter {
	f := c.byName(cName)
	if f == nil || c.left[cName] != "" {
		return nil
	}
	a := &adapter{function: f, sig: c.signatures[cName], types: c.declarations.types, errno: errno, index: c.index(f)}
	if c.written[a.name()] {
		return a
	}
	text, err := a.text()
	if err == nil && errno && !f.hasError {
		err = fmt.Errorf("its declaration has no error")
	}
	if err != nil {
		c.left[cName] = err.Error()
		return nil
	}
	c.written[a.name()] = true
	c.adapters = append(c.adapters, a)
	to.WriteString(text)
	return a
}

// index returns the counter of a function.
func (c *converter) index(f *function) int { return slices.Index(c.declarations.functions, f) }

// cgoOwn are what cgo gives besides C's functions.
var cgoOwn = map[string]bool{
	"CString": true, "CBytes": true, "GoString": true, "GoStringN": true, "GoBytes": true, "malloc": true, "free": true,
}

// inC returns NAME of C.NAME.
func inC(e ast.Expr) (name string, ok bool) {
	sel, ok := ast.Unparen(e).(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	x, ok := sel.X.(*ast.Ident)
	return sel.Sel.Name, ok && x.Name == "C"
}

// parentOf returns what stands around the last node, without parentheses.
func parentOf(stack []ast.Node) ast.Node {
	for _, n := range slices.Backward(stack[:len(stack)-1]) {
		if _, ok := n.(*ast.ParenExpr); !ok {
			return n
		}
	}
	return nil
}

// takesErrno reports whether a call is that of r, err := C.f().
func takesErrno(call *ast.CallExpr, parent ast.Node) bool {
	switch p := parent.(type) {
	case *ast.AssignStmt:
		return len(p.Rhs) == 1 && len(p.Lhs) == 2 && ast.Unparen(p.Rhs[0]) == call
	case *ast.ValueSpec:
		return len(p.Values) == 1 && len(p.Names) == 2 && ast.Unparen(p.Values[0]) == call
	}
	return false
}

// apply makes the edits, which do not overlap.
func apply(text []byte, edits []edit) []byte {
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, text[at:e.from]...), e.text...)
		at = e.to
	}
	return append(out, text[at:]...)
}
