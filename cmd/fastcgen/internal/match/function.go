package match

import (
	"cmp"
	"debug/dwarf"
	"fmt"
	"strconv"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
)

func (m *matcher) argument(i int, a decl.Arg, c dwarf.Type) {
	field := "arg" + strconv.Itoa(i)
	switch a.Kind {
	case decl.ArgLen, decl.ArgCap:
		m.length(i, a, c, field)
	case decl.ArgResult:
		m.outParam(i, a, c)
	case decl.ArgParam:
		q := m.f.Param(a.Text)
		g, ok := m.resolve(q.Typ, 0)
		if !ok {
			m.bad.Add(q.At, "the type "+g.String()+" is not known, or cannot be passed to C", m.suggest(c))
			return
		}
		what, do := m.parameter(q, g, c, field)
		if what != "" {
			m.bad.Add(q.At, fmt.Sprintf("%s is %s, and argument %d of %s %s", q.Name, g.Words(), i+1, m.f.Call.CName,
				what), do)
		}
	default:
		if what := m.literal(a, c); what != "" {
			m.bad.Add(a.At, fmt.Sprintf("%s for argument %d of %s, which is %s", what, i+1, m.f.Call.CName,
				m.facts.Describe(c)), "pass a parameter there: "+m.suggest(c))
		}
	}
}

// parameter passes q, of type g, for c. what is what C has instead, do what to write.
//
//	Go's q                    C's c                     the frame's field     C gets
//	int32, float64, ...       the same number           that number           fastc_f->arg
//	bool                      _Bool                     _Bool                 fastc_f->arg
//	T, a mirror               the struct                void *, to q          *(T *)fastc_f->arg
//	*T, of an opaque T        T *                       uintptr_t             (void *)fastc_f->arg
//	[]E, *E, *[n]E            E *, void *               void *                fastc_f->arg
//	[n]E                      const E *                 void *, to q          fastc_f->arg
//	string                    const char *, and len     void *                fastc_f->arg
//
// A pointer to an opaque type goes as a number, because the collector must not look at it. A string
// or an array needs C's const, because Go's strings never change, and the caller of an array would
// not see what C wrote.
func (m *matcher) parameter(q *decl.Param, g *decl.GoType, c dwarf.Type, field string) (what, do string) {
	b, _ := m.facts.Bare(c)
	ptr, isPtr := b.(*dwarf.PtrType)
	is, suggestion := "is "+m.facts.Describe(c), m.suggest(c)
	switch g.Kind {
	case decl.GoNumber:
		if n, ok := m.facts.Number(c); !ok || !n.Is(g.Num) {
			return is, suggestion
		}
		m.numberSize(c)
		m.field(g.Num.CName()+" ", field, "C."+g.Num.CName()+"("+q.Name+")")
	case decl.GoBool:
		if _, ok := b.(*dwarf.BoolType); !ok {
			return is, suggestion
		}
		m.numberSize(c)
		m.field("_Bool ", field, "C._Bool("+q.Name+")")
	case decl.GoMirror:
		if !m.sameData(g, c) {
			return is, suggestion
		}
		m.p.Fields = append(m.p.Fields, "void *"+field)
		m.p.Args = append(m.p.Args, "*("+g.Decl.CText()+" *)fastc_f->"+field)
		m.p.Sets = append(m.p.Sets, "f."+field+" = unsafe.Pointer(&"+q.Name+")")
		m.p.Pointers = true
	case decl.GoOpaque:
		if !isPtr {
			return is + ", a value of a type that C keeps to itself", cc.WrapIt
		}
		return "cannot be a value of a type that C keeps to itself", "declare it *" + g.Name
	case decl.GoError:
		return is, suggestion
	default:
		if !isPtr {
			return is, suggestion
		}
		return m.pointerParameter(q, g, ptr, field, is, suggestion)
	}
	return "", ""
}

func (m *matcher) pointerParameter(
	q *decl.Param, g *decl.GoType, ptr *dwarf.PtrType, field, is, suggestion string,
) (what, do string) {
	toVoid := m.facts.IsVoid(ptr.Type)
	if g.Kind == decl.GoString {
		n, ok := m.facts.Number(ptr.Type)
		switch {
		case !toVoid && (!ok || n.Enum != nil || !n.PlainChar &&
			n.Number != decl.Number{Class: decl.Unsigned, Size: 1}):
			return is, suggestion
		case !cc.IsConst(ptr.Type):
			return is + ": C may write to it", "declare it []byte"
		case !m.passesLen(q.Name):
			return is + ": C would look for a zero byte, which does not end Go's strings", fmt.Sprintf(
				"declare it []byte, with //fastc:require len(%[1]s) > 0 && %[1]s[len(%[1]s)-1] == 0", q.Name)
		}
		m.p.Strings = append(m.p.Strings, q.Name)
		value := q.Name
		if g.Name != "string" {
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
	case g.Kind == decl.GoSlice:
		m.address(field, "unsafe.SliceData("+q.Name+")")
	case g.Kind == decl.GoPointer && g.Elem.Kind == decl.GoOpaque:
		m.handle(field, q.Name)
	case g.Kind == decl.GoPointer:
		m.address(field, q.Name)
	case g.Kind == decl.GoArray:
		if !cc.IsConst(ptr.Type) {
			return is + ": C may write to it, and the caller would not see it", "declare it *" + g.String()
		}
		m.address(field, "&"+q.Name)
	}
	return "", ""
}
