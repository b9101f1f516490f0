package match

import (
	"cmp"
	"debug/dwarf"
	"fmt"
	"strconv"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/declfile"
)

func (m *matcher) argument(i int, a declfile.Arg, c dwarf.Type) {
	field := "arg" + strconv.Itoa(i)
	switch a.Kind {
	case declfile.ArgLen:
		m.length(i, a, c, field)
	case declfile.ArgResult:
		m.outParam(i, a, c)
	case declfile.ArgParam:
		q := m.f.Param(a.Text)
		g, ok := m.resolve(q.Typ)
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
// or an array needs C's const. Go's strings never change, and the caller would not see a changed
// array.
func (m *matcher) parameter(q *declfile.Param, g *declfile.GoType, c dwarf.Type, field string) (what, do string) {
	ptr := cc.Pointer(c)
	is, suggestion := "is "+m.facts.Describe(c), m.suggest(c)
	switch g.Kind {
	case declfile.GoNumber, declfile.GoBool:
		if !m.sameData(g, c) {
			return is, suggestion
		}
		m.numberSize(c)
		m.pass(g, field, q.Name, "")
	case declfile.GoMirror:
		if !m.sameData(g, c) {
			return is, suggestion
		}
		m.address(field, "&"+q.Name, "*("+g.Decl.CText()+" *)")
	case declfile.GoOpaque:
		if ptr == nil {
			return is + ", a value of a type that C keeps to itself", cc.WrapIt
		}
		return "cannot be a value of a type that C keeps to itself", "declare it *" + g.Name
	default:
		if ptr == nil {
			return is, suggestion
		}
		return m.pointerParameter(q, g, ptr, field, is, suggestion)
	}
	return "", ""
}

func (m *matcher) pointerParameter(
	q *declfile.Param, g *declfile.GoType, ptr *dwarf.PtrType, field, is, suggestion string,
) (what, do string) {
	toVoid := cc.IsVoid(ptr.Type)
	if g.Kind == declfile.GoString {
		switch {
		case !toVoid && !m.isText(ptr.Type):
			return is, suggestion
		case !cc.IsConst(ptr.Type):
			return is + ": C may write to it", "declare it []byte"
		case !m.passesLen(q.Name):
			return is + ": C would look for a zero byte, which does not end Go's strings", fmt.Sprintf(
				"declare it []byte, with //fastc:require len(%[1]s) > 0 && %[1]s[len(%[1]s)-1] == 0", q.Name)
		}
		m.address(field, "unsafe.StringData("+q.Name+")", "")
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
	case g.Kind == declfile.GoSlice:
		m.address(field, "unsafe.SliceData("+q.Name+")", "")
	case g.Kind == declfile.GoPointer && g.Elem.Kind == declfile.GoOpaque:
		m.pass(g, field, q.Name, "(void *)")
	case g.Kind == declfile.GoPointer:
		m.address(field, q.Name, "")
	case g.Kind == declfile.GoArray:
		if !cc.IsConst(ptr.Type) {
			return is + ": C may write to it, and the caller would not see it", "declare it *" + g.String()
		}
		m.address(field, "&"+q.Name, "")
	}
	return "", ""
}

// isText reports whether c is char or an unsigned number of 8 bits.
func (m *matcher) isText(c dwarf.Type) bool {
	n, ok := m.facts.Number(c)
	return ok && n.Enum == nil && (n.PlainChar || n.Number == declfile.Number{Class: declfile.Unsigned, Size: 1})
}

// Plan says how a function's frame, shim and wrapper look. Both C and Go call the frame fastc_f.
type Plan struct {
	Func      *declfile.Func
	Sig       string
	Fields    []string
	Args      []string
	Sets      []string
	Checks    []string // conditions of Go about lengths
	Result    string
	RetField  bool
	RetCast   string
	RetStruct bool // it may have const members, so C copies it
	Values    []string
	Outs      map[string]string
	Pointers  bool
	Numbers   []cc.Fact
	Fits      []string
	Begins    []string
	Arrays    []OutArray
	Copied    bool
}

type matcher struct {
	*resolver
	f *declfile.Func
	p *Plan
	c *dwarf.FuncType
}

// OutArray is a result that C fills through a pointer to its first element.
type OutArray struct {
	Result declfile.Param
	Len    int64
	Arg    int
	Field  int
	One    string // the field with a single element
}

// SaidByUs begins the messages of assertions that a trial holds for us.
const SaidByUs = "fastcgen: "

// pass hands a number, a bool or an address of C's over, which C gets with a cast.
func (m *matcher) pass(g *declfile.GoType, field, value, cast string) {
	declared, _ := m.place(g, field)
	m.p.Fields = append(m.p.Fields, declared)
	m.p.Args = append(m.p.Args, cast+"fastc_f->"+field)
	m.set(g, field, value)
}

// set fills a field. An address of C's is a number there, because the collector must not look at
// (struct ctx *)1.
func (m *matcher) set(g *declfile.GoType, field, value string) {
	switch g.Kind {
	case declfile.GoNumber:
		value = "C." + g.Num.CName() + "(" + value + ")"
	case declfile.GoBool:
		value = "C._Bool(" + value + ")"
	case declfile.GoPointer:
		value = "C.uintptr_t(uintptr(unsafe.Pointer(" + value + ")))"
	default:
		m.p.Sets = append(m.p.Sets, "*(*"+g.String()+")(unsafe.Pointer(&fastc_f."+field+")) = "+value)
		return
	}
	m.p.Sets = append(m.p.Sets, "fastc_f."+field+" = "+value)
}

func (m *matcher) address(field, value, cast string) {
	m.p.Fields = append(m.p.Fields, "void *"+field)
	m.p.Args = append(m.p.Args, cast+"fastc_f->"+field)
	m.p.Sets = append(m.p.Sets, "fastc_f."+field+" = unsafe.Pointer("+value+")")
	m.p.Pointers = true
}

func (m *matcher) numberSize(c dwarf.Type) { m.p.Numbers = append(m.p.Numbers, m.facts.FactsOf(c)...) }

// place returns a field for a value from C, and the Go expression that reads it.
func (m *matcher) place(g *declfile.GoType, field string) (declared, value string) {
	from := "fastc_f." + field
	switch g.Kind {
	case declfile.GoNumber:
		return g.Num.CName() + " " + field, g.Name + "(" + from + ")"
	case declfile.GoBool:
		return "_Bool " + field, g.Name + "(" + from + ")"
	case declfile.GoMirror:
		return g.Decl.CText() + " " + field, "*(*" + g.Name + ")(unsafe.Pointer(&" + from + "))"
	case declfile.GoArray:
		declared, _ := m.place(g.Elem, field)
		if declared == "" {
			return "", ""
		}
		return declared + "[" + strconv.FormatInt(g.Len, 10) + "]",
			"*(*" + g.String() + ")(unsafe.Pointer(&" + from + "))"
	case declfile.GoPointer:
		if g.Elem.Kind == declfile.GoOpaque {
			return "uintptr_t " + field, "*(*" + g.String() + ")(unsafe.Pointer(&" + from + "))"
		}
	}
	return "", ""
}

func (m *matcher) begin(q declfile.Param, g *declfile.GoType, c dwarf.Type, field string, a declfile.Arg) {
	refuse := func(what, do string) { m.bad.Add(a.At, what, do) }
	switch a.Kind {
	case declfile.ArgLen:
		if g.Kind != declfile.GoNumber || g.Num.Class == declfile.Float || g.Num.Size < 4 {
			refuse(fmt.Sprintf("%s for %s, which is %s", a, q.Name, g), "write a parameter in place of "+a.String())
			return
		}
		fields, args := len(m.p.Fields), len(m.p.Args)
		m.length(0, a, cc.Unqualified(c), field)
		if len(m.p.Args) > args {
			m.p.Fields, m.p.Args = m.p.Fields[:fields], m.p.Args[:args]
		}
	case declfile.ArgParam:
		p := m.f.Param(a.Text)
		if p.Typ.String() != q.Typ.String() {
			refuse(fmt.Sprintf("%s begins as %s, which is %s and not %s", q.Name, a, p.Typ, q.Typ),
				"declare "+a.Text+" "+q.Typ.String())
			return
		}
		m.set(g, field, a.Text)
	default:
		what := m.literal(a, c)
		last := len(m.p.Args) - 1
		cast := ""
		if g.Kind == declfile.GoPointer {
			cast = "(uintptr_t)"
		}
		m.p.Begins = append(m.p.Begins, "fastc_f->"+field+" = "+cast+m.p.Args[last])
		m.p.Args = m.p.Args[:last]
		if what != "" {
			refuse(what+" for "+q.Name+", which is "+m.facts.Describe(c), "write a value of that type")
		}
	}
}
