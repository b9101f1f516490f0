package match

import (
	"debug/dwarf"
	"fmt"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
)

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
