package match

import (
	"debug/dwarf"
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
