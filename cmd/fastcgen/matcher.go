package main

import (
	"debug/dwarf"
	"strconv"
)

// plan says how a function's frame, shim and wrapper look.
type plan struct {
	fn       *funcDecl
	sig      string   // the C function's type, for an assertion
	fields   []string // of the frame, in C
	args     []string // of the call, in C
	sets     []string // statements of Go that fill the frame
	checks   []string // lengths that have to fit, as conditions of Go
	result   string   // the C function's, its type
	retField bool     // the frame has it
	retCast  string   // what it is cast to for that
	retConst bool     // it is a struct with members that C does not assign
	voidC    bool
	values   []string // the results, as expressions of Go
	outs     map[string]string
	pointers bool     // the frame holds some
	strings  []string // parameters that C sees without a zero at the end
	numbers  []cTypeFact
	fits     []string // assertions of C about its constants
	begins   []string // statements of C before the call
	arrays   []outArray
	copied   bool // the result is a string of C's
}

// matcher compares a function's declaration with C's.
type matcher struct {
	*resolver
	f *funcDecl
	p *plan
	c *dwarf.FuncType
}

// outArray is a result that C fills through a pointer to its first element.
type outArray struct {
	result param
	arg    int    // of the C call
	field  int    // of the frame
	one    string // the field with a single element
}

// saidByUs begins the messages of assertions that a trial holds for us.
const saidByUs = "fastcgen: "

// field adds a field to the frame that a Go expression fills, and passes it to C.
func (m *matcher) field(cType, field, value string) {
	m.p.fields = append(m.p.fields, cType+field)
	m.p.args = append(m.p.args, "fastc_f->"+field)
	m.p.sets = append(m.p.sets, "f."+field+" = "+value)
}

// address does the same with an address.
func (m *matcher) address(field, value string) {
	m.field("void *", field, "unsafe.Pointer("+value+")")
	m.p.pointers = true
}

// handle does it with an address of C's. Go's collector must not take it for one of Go's: it may be
// a number in C, such as (struct ctx *)1.
func (m *matcher) handle(field, value string) {
	m.p.fields = append(m.p.fields, "uintptr_t "+field)
	m.p.args = append(m.p.args, "(void *)fastc_f->"+field)
	m.p.sets = append(m.p.sets, "f."+field+" = C.uintptr_t(uintptr(unsafe.Pointer("+value+")))")
}

// numberSize has the generated file assert what c is.
func (m *matcher) numberSize(c dwarf.Type) { m.p.numbers = append(m.p.numbers, m.facts.factsOf(c)...) }

// place returns a field for a value that C gives, and the Go expression that reads it.
func (m *matcher) place(g *goType, field string) (declared, value string) {
	from := "f." + field
	switch g.kind {
	case goNumber:
		return g.num.cName() + " " + field, g.name + "(" + from + ")"
	case goBool:
		return "_Bool " + field, g.name + "(" + from + ")"
	case goMirror:
		return g.decl.cText() + " " + field, "*(*" + g.name + ")(unsafe.Pointer(&" + from + "))"
	case goArray:
		declared, _ := m.place(g.elem, field)
		if declared == "" {
			return "", ""
		}
		return declared + "[" + strconv.FormatInt(g.n, 10) + "]", "*(*" + g.String() + ")(unsafe.Pointer(&" + from + "))"
	case goPointer:
		if g.elem.kind == goOpaque {
			return "uintptr_t " + field, "*(*" + g.String() + ")(unsafe.Pointer(&" + from + "))"
		}
	}
	return "", ""
}
