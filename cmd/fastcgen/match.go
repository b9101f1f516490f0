package main

import (
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
	retField bool     // the frame has the C function's result
	voidC    bool
	values   []string // the results, as expressions of Go
	outs     map[string]string
	pointers bool     // the frame holds some
	strings  []string // parameters that C sees without a zero at the end
	numbers  []cTypeSize
	fits     []string // assertions of C about its constants
}

// cTypeSize is a number type of C with the size that generated code relies on.
type cTypeSize struct {
	text string
	size int64
}

// matcher compares a function's declaration with C's.
type matcher struct {
	*resolver
	f *funcDecl
	p *plan
}

// match makes a function's plan; what is wrong goes to r.bad.
func (r *resolver) match(f *funcDecl) *plan {
	m := &matcher{r, f, &plan{fn: f, outs: map[string]string{}}}
	b, _ := r.facts.bare(r.facts.funcs[f.call.cName])
	fn, ok := b.(*dwarf.FuncType)
	if !ok {
		m.bad.add(f.call.at, f.call.cName+" is not a function in C", "name a function")
		return nil
	}
	m.p.sig = cText(r.facts.funcs[f.call.cName], "")
	if n := len(fn.ParamType); n > 0 {
		if _, ok := fn.ParamType[n-1].(*dwarf.DotDotDotType); ok {
			m.bad.add(f.call.at, f.call.cName+" has variable arguments, or no prototype",
				"wrap it in a static inline function with fixed parameters in the preamble; write (void) where C takes none")
			return nil
		}
	}
	if want, have := len(fn.ParamType), len(f.call.args); want != have {
		m.bad.add(f.call.at, fmt.Sprintf("%s takes %s, and //fastc:call passes %d", f.call.cName, plural(want, "argument"), have),
			"pass what C declares: "+cText(fn, f.call.cName))
		return nil
	}
	before := len(r.bad)
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
	field := "arg" + itoa(i)
	switch a.kind {
	case argLen, argCap:
		m.length(i, a, c, field)
	case argResult:
		m.outParam(i, a, c)
	case argParam:
		q := m.f.param(a.text)
		g, ok := m.resolve(q.typ, 0)
		if !ok {
			m.bad.add(q.at, "the type "+g.String()+" is not known, or cannot be passed to C", "write a Go type, or declare type "+g.String()+" C.NAME")
			return
		}
		what, do := m.parameter(q, g, c, field)
		if what != "" {
			m.bad.add(q.at, fmt.Sprintf("%s is %s, and argument %d of %s %s", q.name, g.words(), i+1, m.f.call.cName, what), do)
		}
	default:
		if what := m.literal(a, c); what != "" {
			m.bad.add(a.at, fmt.Sprintf("%s for argument %d of %s, which is %s", what, i+1, m.f.call.cName, m.facts.describe(c)), "pass a value of that type")
		}
	}
}

// field adds a field to the frame that a Go expression fills, and passes it to C.
func (m *matcher) field(cType, field, value string) {
	m.p.fields = append(m.p.fields, cType+field)
	m.p.args = append(m.p.args, "f->"+field)
	m.p.sets = append(m.p.sets, "f."+field+" = "+value)
}

// pointer does the same with an address.
func (m *matcher) pointer(field, value string) {
	m.field("void *", field, "unsafe.Pointer("+value+")")
	m.p.pointers = true
}

// numberSize has the generated file assert a size.
func (m *matcher) numberSize(c dwarf.Type) {
	if n, ok := m.facts.number(c); ok && !anonymous(c) {
		m.p.numbers = append(m.p.numbers, cTypeSize{cText(unqualified(c), ""), n.size})
	}
}

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
		m.field("_Bool ", field, "C._Bool("+q.name+")")
	case goMirror:
		if !m.sameData(g, c) {
			return is, suggestion
		}
		m.p.fields = append(m.p.fields, "void *"+field)
		m.p.args = append(m.p.args, "*("+g.decl.cText()+" *)f->"+field)
		m.p.sets = append(m.p.sets, "f."+field+" = unsafe.Pointer(&"+q.name+")")
		m.p.pointers = true
	case goOpaque:
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
			return is + ": C may write to it", "declare it []byte, or const in C"
		}
		m.p.strings = append(m.p.strings, q.name)
		value := q.name
		if g.name != "string" {
			value = "string(" + value + ")"
		}
		m.pointer(field, "unsafe.StringData("+value+")")
		return "", ""
	}
	if bad, do := m.element(g); bad != "" {
		return is + "; " + bad, do
	}
	if !toVoid && !m.points(g, ptr.Type) {
		return is, suggestion
	}
	if !toVoid {
		m.numberSize(ptr.Type)
	}
	switch g.kind {
	case goSlice:
		m.pointer(field, "unsafe.SliceData("+q.name+")")
	case goPointer:
		m.pointer(field, q.name)
	case goArray:
		if !isConst(ptr.Type) {
			return is + ": C may write to it, and the caller would not see it", "declare it *" + g.String() + ", or const in C"
		}
		m.pointer(field, "&"+q.name)
	}
	return "", ""
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
	return "C would find Go's " + e.String() + " in it", "pass numbers, bools, or structs declared as C's"
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
