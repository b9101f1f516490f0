package main

import (
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
	r := newResolver(facts, d, foreign)
	if len(r.bad) > 0 {
		return nil, r.bad
	}
	m := &matched{types: r.order, mirrors: r.mirrors, names: r}
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
