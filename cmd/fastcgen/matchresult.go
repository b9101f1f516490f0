package main

import (
	"debug/dwarf"
	"fmt"
	"strconv"
)

// outParam passes the address of a place in the frame, from which the result is read.
func (m *matcher) outParam(i int, a callArg, c dwarf.Type) {
	q := m.f.result(a.text)
	if _, twice := m.p.outs[a.text]; twice {
		m.bad.add(a.at, "&"+a.text+" is passed twice", "name another result")
		return
	}
	m.p.outs[a.text] = ""
	g, ok := m.resolve(q.typ, 0)
	if !ok {
		do := "pass a parameter, not a result"
		if m.pointer(c) != nil {
			do = m.suggestOut(c)
		}
		m.bad.add(q.at, "the type "+g.String()+" is not known, or cannot come from C", do)
		return
	}
	ptr := m.pointer(c)
	if ptr == nil || isConst(ptr.Type) {
		why := ""
		if ptr != nil {
			why = ": C does not write to it"
		}
		m.bad.add(a.at, fmt.Sprintf("&%s for argument %d of %s, which is %s%s", a.text, i+1, m.f.call.cName, m.facts.describe(c), why), "pass a parameter, not a result")
		return
	}
	field := "out" + strconv.Itoa(i)
	declared, value := m.place(g, field)
	if what, do := m.outRefused(i, q, g, ptr, c, declared); what != "" {
		m.bad.add(q.at, what, do)
		return
	}
	if g.kind != goPointer && !m.isVoid(ptr.Type) {
		m.numberSize(ptr.Type)
	}
	m.out(i, a, q, g, declared)
	m.p.outs[a.text] = value
	if begin, ok := m.f.inouts[a.text]; ok {
		m.begin(q, g, ptr.Type, field, begin)
	}
}

// outRefused says why C cannot put a g where ptr, of type c, points to, and what to write; it is empty where C can.
// declared is g's field of the frame, empty where it has none.
func (m *matcher) outRefused(i int, q param, g *goType, ptr *dwarf.PtrType, c dwarf.Type, declared string) (what, do string) {
	fits := !m.isVoid(ptr.Type) && m.sameData(g, ptr.Type)
	switch {
	case declared == "":
		return "the result " + q.name + " is " + g.String(), m.suggestOut(c)
	case g.kind == goArray && g.n == 1: // C compilers take it for one without a length
		return "the result " + q.name + " is an array of one element", "declare " + g.elem.String()
	case g.kind == goPointer:
		inner := m.pointer(ptr.Type)
		fits = inner != nil && m.sameData(g.elem, inner.Type)
	case g.kind == goArray:
		fits = m.isVoid(ptr.Type) || m.points(g, ptr.Type)
	}
	if fits {
		return "", ""
	}
	do = m.suggestOut(c)
	if g.kind == goArray {
		if n, ok := m.facts.number(ptr.Type); ok {
			do = fmt.Sprintf("declare [%d]%s", g.n, n.goName())
		}
	}
	return fmt.Sprintf("%s is %s, and argument %d of %s is %s", q.name, g.words(), i+1, m.f.call.cName, m.facts.describe(c)), do
}

// out adds the field of the frame, declared, that C gets the address of.
func (m *matcher) out(i int, a callArg, q param, g *goType, declared string) {
	field, count := "out"+strconv.Itoa(i), int64(1)
	address := "(void *)&fastc_f->" + field
	if g.kind == goArray {
		count = g.n
		address = "(void *)fastc_f->" + field // an array to clang, which compares its length with [static N]
		one, _ := m.place(&goType{kind: goArray, n: 1, elem: g.elem}, field)
		m.p.arrays = append(m.p.arrays, outArray{q, i, len(m.p.fields), one})
	}
	if w, ok := m.f.writes[a.text]; ok {
		m.p.fits = append(m.p.fits, fmt.Sprintf("_Static_assert((%s) <= %d, %q);", w.text, count,
			saidByUs+fmt.Sprintf("C writes %s elements to %s, which has %d; declare the array as long as what C writes", w.text, a.text, count)))
	}
	m.p.fields = append(m.p.fields, declared)
	m.p.args = append(m.p.args, address)
}

// results compares the Go results with C's.
func (m *matcher) results(c dwarf.Type) {
	b, _ := m.facts.bare(c)
	_, m.p.voidC = b.(*dwarf.VoidType)
	cName := m.f.call.cName
	var direct *param
	for i, r := range m.f.results {
		if value, ok := m.p.outs[r.name]; ok && r.name != "" {
			m.p.values = append(m.p.values, value)
			continue
		}
		if direct != nil {
			continue // said by the parser
		}
		direct = &m.f.results[i]
		m.p.values = append(m.p.values, m.direct(direct, c))
	}
	if m.f.copies && (direct == nil || !m.p.copied) && len(m.bad) == 0 {
		m.bad.add(m.f.at, "//fastc:copy, and "+m.f.name+" gives no string that "+cName+" returns", "leave it out")
	}
	failure := "errno != 0"
	if _, isStruct := b.(*dwarf.StructType); !m.p.voidC && !isStruct && direct == nil {
		failure = "ret != 0"
	}
	switch {
	case m.f.fails != nil && m.p.voidC && returnOfC.MatchString(m.f.fails.text):
		m.bad.add(m.f.fails.at, "//fastc:fails looks at ret, and "+cName+" returns nothing", "write //fastc:fails errno != 0")
	case m.f.hasError && m.f.fails == nil && len(m.f.requires)+len(m.p.checks) == 0:
		m.bad.add(m.f.at, fmt.Sprintf("the error of %s would always be nil: nothing says when %s fails", m.f.name, cName), "add //fastc:fails "+failure)
	case direct == nil && !m.p.voidC && m.f.fails == nil && m.f.hasError:
		m.bad.add(m.f.at, fmt.Sprintf("%s returns %s, and %s only an error", cName, m.facts.describe(c), m.f.name), "add //fastc:fails "+failure)
	case direct == nil && !m.p.voidC && m.f.fails == nil:
		m.bad.add(m.f.at, fmt.Sprintf("%s returns %s, and %s does not", cName, m.facts.describe(c), m.f.name),
			m.suggestResult(c))
	}
}

// direct reads the C function's own result.
func (m *matcher) direct(r *param, c dwarf.Type) string {
	cName := m.f.call.cName
	if m.p.voidC {
		m.bad.add(r.at, cName+" returns nothing, and "+m.f.name+" a result", "leave the result out")
		return ""
	}
	g, ok := m.resolve(r.typ, 0)
	if !ok {
		m.bad.add(r.at, "the type "+g.String()+" is not known, or cannot come from C", m.suggestResult(c))
		return ""
	}
	declared, value := m.place(g, "ret")
	b, _ := m.facts.bare(c)
	ptr, isPtr := b.(*dwarf.PtrType)
	if g.kind == goString && isPtr {
		return m.text(r, g, ptr, c)
	}
	switch {
	case g.kind == goOpaque:
		m.bad.add(r.at, "the result is a value of "+g.name+", which C keeps to itself", m.suggestResult(c))
	case isPtr && g.kind != goPointer || isPtr && declared == "":
		m.bad.add(r.at, fmt.Sprintf("the result is %s, and %s returns %s: Go cannot know how long what it points to stays", g, cName, m.facts.describe(c)),
			m.suggestResult(c))
	case declared == "" || g.kind == goArray || isPtr && !m.sameData(g.elem, ptr.Type) || !isPtr && !m.sameData(g, c):
		m.bad.add(r.at, fmt.Sprintf("the result is %s, and %s returns %s", g.words(), cName, m.facts.describe(c)), m.suggestResult(c))
	}
	m.numberSize(c)
	m.p.fields = append(m.p.fields, declared)
	m.p.retField = true
	m.p.retConst = g.kind == goMirror && m.facts.constMembers(m.facts.types[g.decl.cText()])
	if g.kind == goPointer {
		m.p.retCast = "(uintptr_t)"
	}
	return value
}

// text copies a string that C keeps.
func (m *matcher) text(r *param, g *goType, ptr *dwarf.PtrType, c dwarf.Type) string {
	cName := m.f.call.cName
	n, ok := m.facts.number(ptr.Type)
	is := fmt.Sprintf("the result is %s, and %s returns %s", g, cName, m.facts.describe(c))
	switch {
	case !ok || n.enum != nil || !n.plainChar && n.number != number{unsigned, 1}:
		m.bad.add(r.at, is, m.suggestResult(c))
	case !isConst(ptr.Type):
		m.bad.add(r.at, is+": a string that the caller has to free, perhaps", "wrap "+cName+" in a static inline function in the preamble that returns const char *, if C keeps the string")
	case !m.f.copies:
		m.bad.add(r.at, is+": Go cannot know how long what it points to stays", "put //fastc:copy above "+m.f.name+": Go gets a copy")
	}
	m.numberSize(ptr.Type)
	m.p.fields = append(m.p.fields, "const void *ret", "size_t ret_len")
	m.p.retField, m.p.copied = true, true
	value := "string(unsafe.Slice((*byte)(f.ret), int(f.ret_len)))"
	if g.name != "string" {
		value = g.name + value[len("string"):]
	}
	return value
}
