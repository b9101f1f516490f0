package main

import (
	"debug/dwarf"
	"fmt"
)

// passesLen reports whether C gets the length of a parameter too.
func (m *matcher) passesLen(name string) bool {
	for _, a := range m.f.call.args {
		if a.kind == argLen && a.text == name {
			return true
		}
	}
	return false
}

// asVoid reports whether a parameter is passed as a void pointer.
func (m *matcher) asVoid(name string) bool {
	for i, a := range m.f.call.args {
		b, _ := m.facts.bare(m.c.ParamType[i])
		if ptr, ok := b.(*dwarf.PtrType); ok && a.kind == argParam && a.text == name {
			target, _ := m.facts.bare(ptr.Type)
			if _, ok := target.(*dwarf.VoidType); ok {
				return true
			}
		}
	}
	return false
}

// nameless refuses signatures with types that generated code cannot write.
func (m *matcher) nameless() bool {
	before := len(m.bad)
	note := func(where string, t dwarf.Type) {
		if what := m.facts.unwritable(t); what != "" {
			m.bad.add(m.f.call.at, where+" of "+m.f.call.cName+" is "+what, wrapIt)
		}
	}
	for i, t := range m.c.ParamType {
		note(fmt.Sprintf("argument %d", i+1), t)
	}
	note("the result", m.c.ReturnType)
	return len(m.bad) > before
}

// element refuses what a slice, array or pointer may not hold.
func (m *matcher) element(g *goType) (bad, do string) {
	e := g.elem
	for e.kind == goArray {
		e = e.elem
	}
	switch {
	case e.kind == goNumber, e.kind == goBool, e.kind == goMirror, e.kind == goOpaque && g.kind == goPointer && g.elem == e:
		return "", ""
	case e.kind == goOpaque:
		return "values of " + e.name + " do not exist in Go", "pass a *" + e.name
	}
	return "C would find Go's " + e.String() + " in it", ""
}

// points reports whether C's pointer to c can be Go's g, a slice, pointer or array.
func (m *matcher) points(g *goType, c dwarf.Type) bool {
	if m.sameData(g.elem, c) {
		return true
	}
	switch { // an array decays to a pointer to its first element, or keeps its type behind one
	case g.kind == goPointer && g.elem.kind == goArray:
		return m.sameData(g.elem.elem, c)
	case g.kind == goArray:
		return m.sameData(&goType{kind: goArray, n: g.n, elem: g.elem}, c)
	}
	return false
}
