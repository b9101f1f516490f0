package main

import (
	"debug/dwarf"
	"fmt"
)

// begin fills a result before the call.
func (m *matcher) begin(q param, g *goType, c dwarf.Type, field string, a callArg) {
	refuse := func(what, do string) { m.bad.add(a.at, what, do) }
	switch a.kind {
	case argLen, argCap:
		if g.kind != goNumber || g.num.class == float || g.num.size < 4 {
			refuse(fmt.Sprintf("%s for %s, which is %s", a, q.name, g), "write a parameter in place of "+a.String())
			return
		}
		fields, args := len(m.p.fields), len(m.p.args)
		m.length(0, a, unqualified(c), field) // the field is there, and no argument of the call
		if len(m.p.args) > args {
			m.p.fields, m.p.args = m.p.fields[:fields], m.p.args[:args]
		}
	case argParam:
		p := m.f.param(a.text)
		if p.typ.String() != q.typ.String() {
			refuse(fmt.Sprintf("%s begins as %s, which is %s and not %s", q.name, a, p.typ, q.typ), "declare "+a.text+" "+q.typ.String())
			return
		}
		switch g.kind {
		case goNumber:
			m.p.sets = append(m.p.sets, "f."+field+" = C."+g.num.cName()+"("+a.text+")")
		case goBool:
			m.p.sets = append(m.p.sets, "f."+field+" = C._Bool("+a.text+")")
		case goPointer:
			m.p.sets = append(m.p.sets, "f."+field+" = C.uintptr_t(uintptr(unsafe.Pointer("+a.text+")))")
		default:
			m.p.sets = append(m.p.sets, "*(*"+g.String()+")(unsafe.Pointer(&f."+field+")) = "+a.text)
		}
	default:
		what := m.literal(a, c)
		last := len(m.p.args) - 1
		cast := ""
		if g.kind == goPointer {
			cast = "(uintptr_t)"
		}
		m.p.begins = append(m.p.begins, "fastc_f->"+field+" = "+cast+m.p.args[last])
		m.p.args = m.p.args[:last]
		if what != "" {
			refuse(what+" for "+q.name+", which is "+m.facts.describe(c), "write a value of that type")
		}
	}
}
