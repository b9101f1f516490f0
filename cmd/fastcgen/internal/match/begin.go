package match

import (
	"debug/dwarf"
	"fmt"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
)

func (m *matcher) begin(q decl.Param, g *decl.GoType, c dwarf.Type, field string, a decl.Arg) {
	refuse := func(what, do string) { m.bad.Add(a.At, what, do) }
	switch a.Kind {
	case decl.ArgLen, decl.ArgCap:
		if g.Kind != decl.GoNumber || g.Num.Class == decl.Float || g.Num.Size < 4 {
			refuse(fmt.Sprintf("%s for %s, which is %s", a, q.Name, g), "write a parameter in place of "+a.String())
			return
		}
		fields, args := len(m.p.Fields), len(m.p.Args)
		m.length(0, a, cc.Unqualified(c), field) // the field is there, and no argument of the call
		if len(m.p.Args) > args {
			m.p.Fields, m.p.Args = m.p.Fields[:fields], m.p.Args[:args]
		}
	case decl.ArgParam:
		p := m.f.Param(a.Text)
		if p.Typ.String() != q.Typ.String() {
			refuse(fmt.Sprintf("%s begins as %s, which is %s and not %s", q.Name, a, p.Typ, q.Typ),
				"declare "+a.Text+" "+q.Typ.String())
			return
		}
		switch g.Kind {
		case decl.GoNumber:
			m.p.Sets = append(m.p.Sets, "f."+field+" = C."+g.Num.CName()+"("+a.Text+")")
		case decl.GoBool:
			m.p.Sets = append(m.p.Sets, "f."+field+" = C._Bool("+a.Text+")")
		case decl.GoPointer:
			m.p.Sets = append(m.p.Sets, "f."+field+" = C.uintptr_t(uintptr(unsafe.Pointer("+a.Text+")))")
		default:
			m.p.Sets = append(m.p.Sets, "*(*"+g.String()+")(unsafe.Pointer(&f."+field+")) = "+a.Text)
		}
	default:
		what := m.literal(a, c)
		last := len(m.p.Args) - 1
		cast := ""
		if g.Kind == decl.GoPointer {
			cast = "(uintptr_t)"
		}
		m.p.Begins = append(m.p.Begins, "fastc_f->"+field+" = "+cast+m.p.Args[last])
		m.p.Args = m.p.Args[:last]
		if what != "" {
			refuse(what+" for "+q.Name+", which is "+m.facts.Describe(c), "write a value of that type")
		}
	}
}
