package match

import (
	"debug/dwarf"
	"fmt"
	"go/ast"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
)

type resolver struct {
	facts    *cc.Facts
	declared map[string]*decl.GoType // by Go name
	order    []*decl.GoType          // the same
	foreign  map[string]ast.Expr     // types of the package's other files
	stands   map[string]dwarf.Type   // types that mirrorable declares, by their text in C
	bad      decl.Problems
}

func (r *resolver) cType(t *decl.Type) dwarf.Type {
	c := r.facts.Types[t.CText()]
	if s := r.stands[t.CText()]; s != nil {
		c = s
	}
	b, _ := r.facts.Bare(c)
	return b
}

const maxDepth = 16

// resolve replaces the names in a type by what they stand for. ok is false if one is unknown.
// maxDepth bounds the circles that Go files which do not compile may have.
func (r *resolver) resolve(t *decl.GoType, depth int) (res *decl.GoType, ok bool) {
	if t.Kind != decl.GoNamed {
		c := *t
		if t.Elem != nil {
			if c.Elem, ok = r.resolve(t.Elem, depth); !ok {
				return c.Elem, false
			}
		}
		return &c, true
	}
	if g := r.declared[t.Name]; g != nil {
		return g, true
	}
	if e, found := r.foreign[t.Name]; found && depth < maxDepth {
		under, _, what, _ := decl.ParseType(e)
		if what != "" {
			return t, false
		}
		under, ok = r.resolve(under, depth+1)
		if !ok {
			return t, false
		}
		c := *under
		c.Name = t.Name
		return &c, true
	}
	if n, found := decl.Numbers[t.Name]; found {
		return &decl.GoType{Kind: decl.GoNumber, Name: t.Name, Num: n}, true
	}
	switch t.Name {
	case "bool":
		return &decl.GoType{Kind: decl.GoBool, Name: t.Name}, true
	case "string":
		return &decl.GoType{Kind: decl.GoString, Name: t.Name}, true
	case "error":
		return &decl.GoType{Kind: decl.GoError, Name: t.Name}, true
	}
	return t, false
}

// structName returns the declared type that mirrors a C struct, nil when there is none.
func (r *resolver) structName(c dwarf.Type) *decl.GoType {
	for _, g := range r.order {
		if (g.Kind == decl.GoMirror || g.Kind == decl.GoOpaque) && r.cType(g.Decl) == c {
			return g
		}
	}
	return nil
}

// sameData reports whether Go's g and C's c are the same bytes, because nothing converts what is
// behind an address. C must not ask for an alignment that Go's memory may not have.
func (r *resolver) sameData(g *decl.GoType, c dwarf.Type) bool {
	b, aligned := r.facts.Bare(c)
	switch g.Kind {
	case decl.GoNumber:
		n, ok := r.facts.Number(c)
		return ok && n.Is(g.Num)
	case decl.GoBool:
		_, ok := b.(*dwarf.BoolType)
		return ok && b.Size() == 1
	case decl.GoMirror:
		return aligned <= 8 && r.cType(g.Decl) == b
	case decl.GoOpaque: // which C puts into memory, however it is aligned
		return r.cType(g.Decl) == b
	case decl.GoArray:
		a, ok := b.(*dwarf.ArrayType)
		return ok && a.Count == g.Len && aligned <= 1 && !r.facts.Odd[b].Vector && r.sameData(g.Elem, a.Type)
	}
	return false
}

func (m *matcher) passesLen(name string) bool {
	for _, a := range m.f.Call.Args {
		if a.Kind == decl.ArgLen && a.Text == name {
			return true
		}
	}
	return false
}

func (m *matcher) asVoid(name string) bool {
	for i, a := range m.f.Call.Args {
		ptr := m.facts.Pointer(m.c.ParamType[i])
		if ptr != nil && a.Kind == decl.ArgParam && a.Text == name && m.facts.IsVoid(ptr.Type) {
			return true
		}
	}
	return false
}

// nameless refuses signatures with types that generated code cannot write.
func (m *matcher) nameless() bool {
	before := len(m.bad)
	note := func(where string, t dwarf.Type) {
		if what := m.facts.Unwritable(t); what != "" {
			m.bad.Add(m.f.Call.At, where+" of "+m.f.Call.CName+" is "+what, cc.WrapIt)
		}
	}
	for i, t := range m.c.ParamType {
		note(fmt.Sprintf("argument %d", i+1), t)
	}
	note("the result", m.c.ReturnType)
	return len(m.bad) > before
}

// element refuses what a slice, array or pointer may not hold.
func (m *matcher) element(g *decl.GoType) (bad, do string) {
	e := g.Elem
	for e.Kind == decl.GoArray {
		e = e.Elem
	}
	switch {
	case e.Kind == decl.GoNumber, e.Kind == decl.GoBool, e.Kind == decl.GoMirror,
		e.Kind == decl.GoOpaque && g.Kind == decl.GoPointer && g.Elem == e:
		return "", ""
	case e.Kind == decl.GoOpaque:
		return "values of " + e.Name + " do not exist in Go", "pass a *" + e.Name
	}
	return "C would find Go's " + e.String() + " in it", ""
}

// points reports whether C's pointer to c can be Go's g, a slice, pointer or array.
func (m *matcher) points(g *decl.GoType, c dwarf.Type) bool {
	if m.sameData(g.Elem, c) {
		return true
	}
	switch { // an array decays to a pointer to its first element, or keeps its type behind one
	case g.Kind == decl.GoPointer && g.Elem.Kind == decl.GoArray:
		return m.sameData(g.Elem.Elem, c)
	case g.Kind == decl.GoArray:
		return m.sameData(&decl.GoType{Kind: decl.GoArray, Len: g.Len, Elem: g.Elem}, c)
	}
	return false
}
