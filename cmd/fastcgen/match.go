package main

import (
	"cmp"
	"debug/dwarf"
	"fmt"
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

// match makes a function's plan; what is wrong goes to r.bad.
func (r *resolver) match(f *funcDecl) *plan {
	m := &matcher{r, f, &plan{fn: f, outs: map[string]string{}}, nil}
	b, _ := r.facts.bare(r.facts.funcs[f.call.cName])
	fn, ok := b.(*dwarf.FuncType)
	if !ok {
		m.bad.add(f.call.at, f.call.cName+" is not a function in C", "name a function")
		return nil
	}
	m.c, m.p.sig, m.p.result = fn, cText(r.facts.funcs[f.call.cName], ""), cText(unqualified(fn.ReturnType), "")
	if n := len(fn.ParamType); n > 0 {
		if _, ok := fn.ParamType[n-1].(*dwarf.DotDotDotType); ok {
			m.bad.add(f.call.at, f.call.cName+" has variable arguments, or no prototype",
				"wrap it in a static inline function with fixed parameters in the preamble")
			return nil
		}
	}
	if want, have := len(fn.ParamType), len(f.call.args); want != have {
		m.bad.add(f.call.at, fmt.Sprintf("%s takes %s, and //fastc:call passes %d", f.call.cName, plural(want, "argument"), have),
			"pass what C declares: "+cText(fn, f.call.cName))
		return nil
	}
	before := len(r.bad)
	if m.nameless() {
		return nil
	}
	for i, a := range f.call.args {
		m.argument(i, a, fn.ParamType[i])
	}
	m.results(fn.ReturnType)
	if len(r.bad) > before {
		return nil
	}
	return m.p
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

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

func unqualified(t dwarf.Type) dwarf.Type {
	for {
		q, ok := t.(*dwarf.QualType)
		if !ok {
			return t
		}
		t = q.Type
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
