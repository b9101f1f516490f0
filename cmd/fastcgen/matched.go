package main

import (
	"debug/dwarf"
	"fmt"
	"go/ast"
)

// matched is what a declaration file and C agree on: how each declared type and each function is laid out.
type matched struct {
	types   []*goType // in the order of their declarations
	mirrors []*mirror
	plans   []*plan
	names   *resolver
}

// match compares the declarations with C. foreign are the types that the package's other files declare. The
// result is nil where what is wrong leaves nothing to go on with.
func match(facts *cFacts, d *declaration, foreign map[string]ast.Expr) (*matched, problems) {
	r, mirrors := newResolver(facts, d, foreign)
	if len(r.bad) > 0 {
		return nil, r.bad
	}
	m := &matched{types: r.order, mirrors: mirrors, names: r}
	for _, f := range d.funcs {
		if p := r.match(f); p != nil {
			m.plans = append(m.plans, p)
		}
	}
	if len(r.bad) > 0 {
		return nil, r.bad
	}
	r.unused(d)
	r.floats(d)
	return m, r.bad
}

// resolve returns what a type of the declaration file stands for. ok is false when it has a name that is not known.
func (m *matched) resolve(t *goType) (res *goType, ok bool) { return m.names.resolve(t, 0) }

// length returns the number of elements of an array.
func (m *matched) length(t *goType) int64 {
	g, _ := m.resolve(t)
	return g.n
}

// unused finds opaque types that no function takes or gives. C makes up a struct for a name
// that it does not know, so that a misspelt one would stay unseen.
func (r *resolver) unused(d *declaration) {
	used := map[*typeDecl]bool{}
	var note func(t *goType)
	note = func(t *goType) {
		if t.elem != nil {
			note(t.elem)
		}
		if g := r.declared[t.name]; g != nil {
			used[g.decl] = true
		}
	}
	for _, f := range d.funcs {
		for _, p := range f.params {
			note(p.typ)
		}
		for _, p := range f.results {
			note(p.typ)
		}
	}
	for _, t := range r.order {
		if t.kind == goOpaque && !used[t.decl] {
			r.bad.add(t.decl.at, "no function uses "+t.name+", of which C may know no more than the name", "leave it out")
		}
	}
}

// floats finds floating-point constants of C in Go code: cgo gives them with six decimals.
func (r *resolver) floats(d *declaration) {
	var uses []name
	for _, c := range d.consts {
		uses = append(uses, c.uses...)
	}
	for _, f := range d.funcs {
		for _, c := range f.conditions() {
			uses = append(uses, c.uses...)
		}
	}
	for _, n := range uses {
		if k, ok := r.facts.number(r.facts.consts[n.text]); ok && k.class == float {
			r.bad.add(n.at, "C."+n.text+" is a floating-point constant, of which cgo keeps six decimals", "write the number; as an argument in //fastc:call it is exact")
		}
	}
}

// newResolver decides what the declared types are, and lays out the mirrors.
func newResolver(facts *cFacts, d *declaration, foreign map[string]ast.Expr) (*resolver, []*mirror) {
	r := &resolver{facts: facts, declared: map[string]*goType{}, foreign: foreign}
	var mirrors []*mirror
	for _, t := range d.types { // enums and opaque types first: mirrors use them
		r.declare(t)
	}
	for _, t := range d.types {
		if g := r.declared[t.name]; g != nil && g.kind == goMirror {
			mirrors = append(mirrors, r.mirror(t))
		}
	}
	return r, mirrors
}

// declare decides what a type declaration makes.
func (r *resolver) declare(t *typeDecl) {
	c := r.facts.types[t.cText()]
	if c == nil {
		r.bad.add(t.at, "the C compiler gave no debugging information for "+t.cText(), "declare a function that uses it, or leave it out")
		return
	}
	g := &goType{name: t.name, decl: t}
	b, _ := r.facts.bare(c)
	n, isNumber := r.facts.number(c)
	switch b := b.(type) {
	case *dwarf.StructType:
		switch {
		case b.Incomplete || t.opaque:
			g.kind = goOpaque
		case b.Kind == "struct":
			g.kind = goMirror
		default:
			r.bad.add(t.at, t.cText()+" is a union, which Go does not have", "put //fastc:opaque above it to pass pointers to it")
			return
		}
	case *dwarf.VoidType:
		g.kind = goOpaque
	case *dwarf.BoolType:
		g.kind = goBool
	default:
		if !isNumber {
			r.bad.add(t.at, t.cText()+" is "+r.facts.describe(c)+", no struct, enum or number that Go has",
				"leave it out")
			return
		}
		g.kind, g.num = goNumber, n.number
		if n.plainChar {
			g.num = number{unsigned, 1}
		}
	}
	if t.opaque && g.kind != goOpaque {
		r.bad.add(t.at, "//fastc:opaque on "+t.cText()+", which is no struct or union", "leave it out")
	}
	r.declared[t.name] = g
	r.order = append(r.order, g)
}

// match makes a function's plan; what is wrong goes to r.bad.
func (r *resolver) match(f *funcDecl) *plan {
	m := &matcher{r, f, &plan{fn: f, outs: map[string]string{}}, nil}
	b, _ := r.facts.bare(r.facts.funcs[f.call.cName])
	fn, ok := b.(*dwarf.FuncType)
	if !ok {
		m.bad.add(f.call.at, f.call.cName+" is not a function in C", "name a function")
		return nil
	}
	m.c, m.p.sig, m.p.result = fn, cText(r.facts.funcs[f.call.cName], ""), cText(unqualified(fn.ReturnType), "")
	if n := len(fn.ParamType); n > 0 {
		if _, ok := fn.ParamType[n-1].(*dwarf.DotDotDotType); ok {
			m.bad.add(f.call.at, f.call.cName+" has variable arguments, or no prototype",
				"wrap it in a static inline function with fixed parameters in the preamble")
			return nil
		}
	}
	if want, have := len(fn.ParamType), len(f.call.args); want != have {
		m.bad.add(f.call.at, fmt.Sprintf("%s takes %s, and //fastc:call passes %d", f.call.cName, plural(want, "argument"), have),
			"pass what C declares: "+cText(fn, f.call.cName))
		return nil
	}
	before := len(r.bad)
	if m.nameless() {
		return nil
	}
	for i, a := range f.call.args {
		m.argument(i, a, fn.ParamType[i])
	}
	m.results(fn.ReturnType)
	if len(r.bad) > before {
		return nil
	}
	return m.p
}
