// Package match compares each declared function and type with C's: the third stage of fastcgen.
//
// For a function it makes a [Plan], which holds the fields of the frame, the Go statements that
// fill them, the arguments of the C call, and the Go expressions that read the results.
//
//	func Divide(a, b int32) (q, r int32, err error)      //fastc:call v_div(a, b, &q, &r)
//
//	Go: sets            the frame            C: args            C writes, Go reads: values
//	f.arg0 = C.int32_t(a)   int32_t arg0    fastc_f->arg0
//	f.arg1 = C.int32_t(b)   int32_t arg1    fastc_f->arg1
//	                        int32_t out2    &fastc_f->out2      int32(f.out2)
//	                        int32_t out3    &fastc_f->out3      int32(f.out3)
//
// For a struct it makes a [Mirror], a Go struct whose fields have C's offsets.
//
// Invariant: Go and C mean the same bits. The generated file asserts this again, because C may
// change. Each refusal names one edit that gets further, so match tries an edit before it suggests
// it ([CanMirror]).
package match

import (
	"debug/dwarf"
	"fmt"
	"strconv"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
)

// Plan says how a function's frame, shim and wrapper look.
type Plan struct {
	Func     *decl.Func
	Sig      string   // the C function's type, for an assertion
	Fields   []string // of the frame, in C
	Args     []string // of the call, in C
	Sets     []string // statements of Go that fill the frame
	Checks   []string // lengths that have to fit, as conditions of Go
	Result   string   // the C function's, its type
	RetField bool     // the frame has it
	RetCast  string   // what it is cast to for that
	RetConst bool     // it is a struct with members that C does not assign
	voidC    bool
	Values   []string // the results, as expressions of Go
	Outs     map[string]string
	Pointers bool     // the frame holds some
	Strings  []string // parameters that C sees without a zero at the end
	Numbers  []cc.Fact
	Fits     []string // assertions of C about its constants
	Begins   []string // statements of C before the call
	Arrays   []OutArray
	Copied   bool // the result is a string of C's
}

type matcher struct {
	*resolver
	f *decl.Func
	p *Plan
	c *dwarf.FuncType
}

// OutArray is a result that C fills through a pointer to its first element.
type OutArray struct {
	Result decl.Param
	Arg    int    // of the C call
	Field  int    // of the frame
	One    string // the field with a single element
}

// SaidByUs begins the messages of assertions that a trial holds for us.
const SaidByUs = "fastcgen: "

// field adds a field to the frame that a Go expression fills, and passes it to C.
func (m *matcher) field(cType, field, value string) {
	m.p.Fields = append(m.p.Fields, cType+field)
	m.p.Args = append(m.p.Args, "fastc_f->"+field)
	m.p.Sets = append(m.p.Sets, "f."+field+" = "+value)
}

// address does the same with an address.
func (m *matcher) address(field, value string) {
	m.field("void *", field, "unsafe.Pointer("+value+")")
	m.p.Pointers = true
}

// handle does the same with an address of C's, as a number: it may be (struct ctx *)1, at which the
// collector must not look.
func (m *matcher) handle(field, value string) {
	m.p.Fields = append(m.p.Fields, "uintptr_t "+field)
	m.p.Args = append(m.p.Args, "(void *)fastc_f->"+field)
	m.p.Sets = append(m.p.Sets, "f."+field+" = C.uintptr_t(uintptr(unsafe.Pointer("+value+")))")
}

func (m *matcher) numberSize(c dwarf.Type) { m.p.Numbers = append(m.p.Numbers, m.facts.FactsOf(c)...) }

// place returns a field for a value that C gives, and the Go expression that reads it.
func (m *matcher) place(g *decl.GoType, field string) (declared, value string) {
	from := "f." + field
	switch g.Kind {
	case decl.GoNumber:
		return g.Num.CName() + " " + field, g.Name + "(" + from + ")"
	case decl.GoBool:
		return "_Bool " + field, g.Name + "(" + from + ")"
	case decl.GoMirror:
		return g.Decl.CText() + " " + field, "*(*" + g.Name + ")(unsafe.Pointer(&" + from + "))"
	case decl.GoArray:
		declared, _ := m.place(g.Elem, field)
		if declared == "" {
			return "", ""
		}
		return declared + "[" + strconv.FormatInt(g.Len, 10) + "]",
			"*(*" + g.String() + ")(unsafe.Pointer(&" + from + "))"
	case decl.GoPointer:
		if g.Elem.Kind == decl.GoOpaque {
			return "uintptr_t " + field, "*(*" + g.String() + ")(unsafe.Pointer(&" + from + "))"
		}
	}
	return "", ""
}

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
