package main

import (
	"cmp"
	"debug/dwarf"
	"fmt"
	"strconv"
)

// argument adds argument i of the C call, of type c.
func (m *matcher) argument(i int, a callArg, c dwarf.Type) {
	field := "arg" + strconv.Itoa(i)
	switch a.kind {
	case argLen, argCap:
		m.length(i, a, c, field)
	case argResult:
		m.outParam(i, a, c)
	case argParam:
		q := m.f.param(a.text)
		g, ok := m.resolve(q.typ, 0)
		if !ok {
			m.bad.add(q.at, "the type "+g.String()+" is not known, or cannot be passed to C", m.suggest(c))
			return
		}
		what, do := m.parameter(q, g, c, field)
		if what != "" {
			m.bad.add(q.at, fmt.Sprintf("%s is %s, and argument %d of %s %s", q.name, g.words(), i+1, m.f.call.cName, what), do)
		}
	default:
		if what := m.literal(a, c); what != "" {
			m.bad.add(a.at, fmt.Sprintf("%s for argument %d of %s, which is %s", what, i+1, m.f.call.cName, m.facts.describe(c)), "pass a parameter there: "+m.suggest(c))
		}
	}
}

// parameter passes q, of type g, for c. what is what C has instead, do what to write.
func (m *matcher) parameter(q *param, g *goType, c dwarf.Type, field string) (what, do string) {
	b, _ := m.facts.bare(c)
	ptr, isPtr := b.(*dwarf.PtrType)
	is, suggestion := "is "+m.facts.describe(c), m.suggest(c)
	switch g.kind {
	case goNumber:
		if n, ok := m.facts.number(c); !ok || !n.is(g.num) {
			return is, suggestion
		}
		m.numberSize(c)
		m.field(g.num.cName()+" ", field, "C."+g.num.cName()+"("+q.name+")")
	case goBool:
		if _, ok := b.(*dwarf.BoolType); !ok {
			return is, suggestion
		}
		m.numberSize(c)
		m.field("_Bool ", field, "C._Bool("+q.name+")")
	case goMirror:
		if !m.sameData(g, c) {
			return is, suggestion
		}
		m.p.fields = append(m.p.fields, "void *"+field)
		m.p.args = append(m.p.args, "*("+g.decl.cText()+" *)fastc_f->"+field)
		m.p.sets = append(m.p.sets, "f."+field+" = unsafe.Pointer(&"+q.name+")")
		m.p.pointers = true
	case goOpaque:
		if !isPtr {
			return is + ", a value of a type that C keeps to itself", wrapIt
		}
		return "cannot be a value of a type that C keeps to itself", "declare it *" + g.name
	case goError:
		return is, suggestion
	default:
		if !isPtr {
			return is, suggestion
		}
		return m.pointerParameter(q, g, ptr, field, is, suggestion)
	}
	return "", ""
}

// pointerParameter passes what C takes by address.
func (m *matcher) pointerParameter(q *param, g *goType, ptr *dwarf.PtrType, field, is, suggestion string) (what, do string) {
	target, _ := m.facts.bare(ptr.Type)
	_, toVoid := target.(*dwarf.VoidType)
	if g.kind == goString {
		n, ok := m.facts.number(ptr.Type)
		switch {
		case !toVoid && (!ok || n.enum != nil || !n.plainChar && n.number != number{unsigned, 1}):
			return is, suggestion
		case !isConst(ptr.Type):
			return is + ": C may write to it", "declare it []byte"
		case !m.passesLen(q.name):
			return is + ": C would look for a zero byte, which does not end Go's strings", fmt.Sprintf(
				"declare it []byte, with //fastc:require len(%[1]s) > 0 && %[1]s[len(%[1]s)-1] == 0", q.name)
		}
		m.p.strings = append(m.p.strings, q.name)
		value := q.name
		if g.name != "string" {
			value = "string(" + value + ")"
		}
		m.address(field, "unsafe.StringData("+value+")")
		return "", ""
	}
	if bad, do := m.element(g); bad != "" {
		return is + ": " + bad, cmp.Or(do, suggestion)
	}
	if !toVoid && !m.points(g, ptr.Type) {
		return is, suggestion
	}
	if !toVoid {
		m.numberSize(ptr.Type)
	}
	switch {
	case g.kind == goSlice:
		m.address(field, "unsafe.SliceData("+q.name+")")
	case g.kind == goPointer && g.elem.kind == goOpaque:
		m.handle(field, q.name)
	case g.kind == goPointer:
		m.address(field, q.name)
	case g.kind == goArray:
		if !isConst(ptr.Type) {
			return is + ": C may write to it, and the caller would not see it", "declare it *" + g.String()
		}
		m.address(field, "&"+q.name)
	}
	return "", ""
}
