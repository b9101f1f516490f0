package main

import (
	"debug/dwarf"
	"go/ast"
)

// resolver knows what the type names in a declaration file stand for.
type resolver struct {
	facts    *cFacts
	declared map[string]*goType    // by Go name
	order    []*goType             // the same
	foreign  map[string]ast.Expr   // types of the package's other files
	stands   map[string]dwarf.Type // types that mirrorable declares, by their text in C
	mirrors  []*mirror
	bad      problems
}

// wrapIt is what to do about a C type that Go has nothing for.
const wrapIt = "wrap the function in a static inline one in the preamble whose types Go has too"

func newResolver(facts *cFacts, d *declaration, foreign map[string]ast.Expr) *resolver {
	r := &resolver{facts: facts, declared: map[string]*goType{}, foreign: foreign}
	for _, t := range d.types { // enums and opaque types first: mirrors use them
		r.declare(t)
	}
	for _, t := range d.types {
		if g := r.declared[t.name]; g != nil && g.kind == goMirror {
			r.mirrors = append(r.mirrors, r.mirror(t))
		}
	}
	return r
}

// cType returns the C type behind a declared one, without typedefs.
func (r *resolver) cType(t *typeDecl) dwarf.Type {
	c := r.facts.types[t.cText()]
	if s := r.stands[t.cText()]; s != nil {
		c = s
	}
	b, _ := r.facts.bare(c)
	return b
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

// maxDepth bounds the chain of names behind a type.
const maxDepth = 16

// resolve replaces the names in a type by what they stand for. ok is false when one is unknown.
func (r *resolver) resolve(t *goType, depth int) (res *goType, ok bool) {
	if t.kind != goNamed {
		c := *t
		if t.elem != nil {
			if c.elem, ok = r.resolve(t.elem, depth); !ok {
				return c.elem, false
			}
		}
		return &c, true
	}
	if g := r.declared[t.name]; g != nil {
		return g, true
	}
	if e, found := r.foreign[t.name]; found && depth < maxDepth {
		under, _, what, _ := parseType(e)
		if what != "" {
			return t, false
		}
		under, ok = r.resolve(under, depth+1)
		if !ok {
			return t, false
		}
		c := *under
		c.name = t.name
		return &c, true
	}
	if n, found := numbers[t.name]; found {
		return &goType{kind: goNumber, name: t.name, num: n}, true
	}
	switch t.name {
	case "bool":
		return &goType{kind: goBool, name: t.name}, true
	case "string":
		return &goType{kind: goString, name: t.name}, true
	case "error":
		return &goType{kind: goError, name: t.name}, true
	}
	return t, false
}

// structName returns the declared type that mirrors a C struct, nil when there is none.
func (r *resolver) structName(c dwarf.Type) *goType {
	for _, g := range r.order {
		if (g.kind == goMirror || g.kind == goOpaque) && r.cType(g.decl) == c {
			return g
		}
	}
	return nil
}

// sameData reports whether Go's g and C's c are the same bytes.
func (r *resolver) sameData(g *goType, c dwarf.Type) bool {
	b, aligned := r.facts.bare(c)
	switch g.kind {
	case goNumber:
		n, ok := r.facts.number(c)
		return ok && n.is(g.num)
	case goBool:
		_, ok := b.(*dwarf.BoolType)
		return ok && b.Size() == 1
	case goMirror:
		return aligned <= 8 && r.cType(g.decl) == b
	case goOpaque: // which C puts into memory, however it is aligned
		return r.cType(g.decl) == b
	case goArray:
		a, ok := b.(*dwarf.ArrayType)
		return ok && a.Count == g.n && aligned <= 1 && !r.facts.odd[b].vector && r.sameData(g.elem, a.Type)
	}
	return false
}
