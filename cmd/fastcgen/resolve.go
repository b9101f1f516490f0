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
	bad      problems
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

// pointer returns c as a pointer, nil when it is none.
func (r *resolver) pointer(c dwarf.Type) *dwarf.PtrType {
	b, _ := r.facts.bare(c)
	ptr, _ := b.(*dwarf.PtrType)
	return ptr
}

// isVoid reports whether c is void.
func (r *resolver) isVoid(c dwarf.Type) bool {
	b, _ := r.facts.bare(c)
	_, is := b.(*dwarf.VoidType)
	return is
}
