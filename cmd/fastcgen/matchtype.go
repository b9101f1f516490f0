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

// unwritable says what in t has no name in C, empty when all has.
func (facts *cFacts) unwritable(t dwarf.Type) string {
	within := func(what string, t dwarf.Type) string {
		if s := facts.unwritable(t); s != "" {
			return what + s
		}
		return ""
	}
	switch t := t.(type) {
	case *dwarf.QualType:
		return facts.unwritable(t.Type)
	case *dwarf.PtrType:
		return within("a pointer to ", t.Type)
	case *dwarf.ArrayType:
		return within("an array of ", t.Type)
	case *dwarf.FuncType:
		for _, p := range t.ParamType {
			if s := within("a function of ", p); s != "" {
				return s
			}
		}
		return within("a function that returns ", t.ReturnType)
	case *dwarf.StructType:
		if t.StructName == "" {
			return "a " + t.Kind + " without a name"
		}
	case *dwarf.EnumType:
		if t.EnumName == "" {
			return "an enum without a name"
		}
	case *dwarf.UnsupportedType:
		return unknownType
	}
	return ""
}

const unknownType = "a type that fastcgen does not know (atomic, perhaps)"

// constMembers reports whether C does not assign to t, since it is const or has a member that is.
func (facts *cFacts) constMembers(t dwarf.Type) bool {
	if isConst(t) {
		return true
	}
	switch b, _ := facts.bare(t); b := b.(type) {
	case *dwarf.ArrayType:
		return facts.constMembers(b.Type)
	case *dwarf.StructType:
		for _, f := range b.Field {
			if facts.constMembers(f.Type) {
				return true
			}
		}
	}
	return false
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
