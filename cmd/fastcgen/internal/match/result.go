package match

import (
	"debug/dwarf"
	"fmt"
	"strconv"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/declfile"
)

func (m *matcher) outParam(i int, a declfile.Arg, c dwarf.Type) {
	q := *m.f.Result(a.Text)
	if _, twice := m.p.Outs[a.Text]; twice {
		m.bad.Add(a.At, "&"+a.Text+" is passed twice", "name another result")
		return
	}
	m.p.Outs[a.Text] = ""
	g, ok := m.resolve(q.Typ)
	if !ok {
		do := "pass a parameter, not a result"
		if cc.Pointer(c) != nil {
			do = m.suggestOut(c)
		}
		m.bad.Add(q.At, "the type "+g.String()+" is not known, or cannot come from C", do)
		return
	}
	ptr := cc.Pointer(c)
	if ptr == nil || cc.IsConst(ptr.Type) {
		why := ""
		if ptr != nil {
			why = ": C does not write to it"
		}
		m.bad.Add(a.At, fmt.Sprintf("&%s for argument %d of %s, which is %s%s", a.Text, i+1, m.f.Call.CName,
			m.facts.Describe(c), why), "pass a parameter, not a result")
		return
	}
	field := "out" + strconv.Itoa(i)
	declared, value := m.place(g, field)
	if what, do := m.outRefused(i, q, g, ptr, c, declared); what != "" {
		m.bad.Add(q.At, what, do)
		return
	}
	if g.Kind != declfile.GoPointer && !cc.IsVoid(ptr.Type) {
		m.numberSize(ptr.Type)
	}
	m.out(i, a, q, g, declared)
	m.p.Outs[a.Text] = value
	if begin, ok := m.f.Inouts[a.Text]; ok {
		m.begin(q, g, ptr.Type, field, begin)
	}
}

// outRefused says why C cannot write a g through ptr, and what to declare. declared is g's field of
// the frame.
func (m *matcher) outRefused(
	i int, q declfile.Param, g *declfile.GoType, ptr *dwarf.PtrType, c dwarf.Type, declared string,
) (what, do string) {
	fits := !cc.IsVoid(ptr.Type) && m.sameData(g, ptr.Type)
	switch {
	case declared == "":
		return "the result " + q.Name + " is " + g.String(), m.suggestOut(c)
	case g.Kind == declfile.GoArray && g.Len == 1: // C compilers take it for one without a length
		return "the result " + q.Name + " is an array of one element", "declare " + g.Elem.String()
	case g.Kind == declfile.GoPointer:
		inner := cc.Pointer(ptr.Type)
		fits = inner != nil && m.sameData(g.Elem, inner.Type)
	case g.Kind == declfile.GoArray:
		fits = cc.IsVoid(ptr.Type) || m.points(g, ptr.Type)
	}
	if fits {
		return "", ""
	}
	do = m.suggestOut(c)
	if g.Kind == declfile.GoArray {
		if n, ok := m.facts.Number(ptr.Type); ok {
			do = fmt.Sprintf("declare [%d]%s", g.Len, n.GoName())
		}
	}
	return fmt.Sprintf("%s is %s, and argument %d of %s is %s", q.Name, g.Words(), i+1, m.f.Call.CName,
		m.facts.Describe(c)), do
}

func (m *matcher) out(i int, a declfile.Arg, q declfile.Param, g *declfile.GoType, declared string) {
	field, count := "out"+strconv.Itoa(i), int64(1)
	address := "(void *)&fastc_f->" + field
	if g.Kind == declfile.GoArray {
		count = g.Len
		address = "(void *)fastc_f->" + field // an array to clang, which compares its length with [static N]
		one, _ := m.place(&declfile.GoType{Kind: declfile.GoArray, Len: 1, Elem: g.Elem}, field)
		m.p.Arrays = append(m.p.Arrays, OutArray{q, g.Len, i, len(m.p.Fields), one})
	}
	if w, ok := m.f.Writes[a.Text]; ok {
		m.p.Fits = append(m.p.Fits, fmt.Sprintf("_Static_assert((%s) <= %d, %q);", w.Text, count,
			SaidByUs+fmt.Sprintf("C writes %s elements to %s, which has %d; declare the array as long as what C writes",
				w.Text, a.Text, count)))
	}
	m.p.Fields = append(m.p.Fields, declared)
	m.p.Args = append(m.p.Args, address)
}

// results compares the Go results with C's. Each result of Go has one source:
//
//	(q, r int32, err error)     //fastc:call v_div(a, b, &q, &r)
//	 │  │        └── what the shim returns: 0, or errno if //fastc:fails holds
//	 └──┴─────────── Outs: fields of the frame whose address C got (outParam)
//
//	(n int, err error)          //fastc:call v_count(a)
//	 └────────────── C's own result, in the field ret (direct)
func (m *matcher) results(c dwarf.Type) {
	void := cc.IsVoid(c)
	cName := m.f.Call.CName
	var direct *declfile.Param
	for i, r := range m.f.Results {
		if value, ok := m.p.Outs[r.Name]; ok && r.Name != "" {
			m.p.Values = append(m.p.Values, value)
			continue
		}
		if direct != nil {
			continue
		}
		direct = &m.f.Results[i]
		m.p.Values = append(m.p.Values, m.direct(direct, c))
	}
	if m.f.Copies && (direct == nil || !m.p.Copied) && len(m.bad) == 0 {
		m.bad.Add(m.f.At, "//fastc:copy, and "+m.f.Name+" gives no string that "+cName+" returns", "leave it out")
	}
	failure := "errno != 0"
	if !void && cc.Struct(c) == nil && direct == nil {
		failure = "ret != 0"
	}
	switch {
	case m.f.Fails != nil && void && declfile.ReturnOfC.MatchString(m.f.Fails.Text):
		m.bad.Add(m.f.Fails.At, "//fastc:fails looks at ret, and "+cName+" returns nothing",
			"write //fastc:fails errno != 0")
	case m.f.HasError && m.f.Fails == nil && len(m.f.Requires)+len(m.p.Checks) == 0:
		m.bad.Add(m.f.At, fmt.Sprintf("the error of %s would always be nil: nothing says when %s fails", m.f.Name,
			cName), "add //fastc:fails "+failure)
	case direct == nil && !void && m.f.Fails == nil && m.f.HasError:
		m.bad.Add(m.f.At, fmt.Sprintf("%s returns %s, and %s only an error", cName, m.facts.Describe(c), m.f.Name),
			"add //fastc:fails "+failure)
	case direct == nil && !void && m.f.Fails == nil:
		m.bad.Add(m.f.At, fmt.Sprintf("%s returns %s, and %s does not", cName, m.facts.Describe(c), m.f.Name),
			m.suggestResult(c))
	}
}

func (m *matcher) direct(r *declfile.Param, c dwarf.Type) string {
	cName := m.f.Call.CName
	if cc.IsVoid(c) {
		m.bad.Add(r.At, cName+" returns nothing, and "+m.f.Name+" a result", "leave the result out")
		return ""
	}
	g, ok := m.resolve(r.Typ)
	if !ok {
		m.bad.Add(r.At, "the type "+g.String()+" is not known, or cannot come from C", m.suggestResult(c))
		return ""
	}
	declared, value := m.place(g, "ret")
	ptr := cc.Pointer(c)
	isPtr := ptr != nil
	if g.Kind == declfile.GoString && isPtr {
		return m.text(r, g, ptr, c)
	}
	switch {
	case g.Kind == declfile.GoOpaque:
		m.bad.Add(r.At, "the result is a value of "+g.Name+", which C keeps to itself", m.suggestResult(c))
	case isPtr && g.Kind != declfile.GoPointer || isPtr && declared == "":
		m.bad.Add(r.At, fmt.Sprintf("the result is %s, and %s returns %s: Go cannot know how long what it points to "+
			"stays", g, cName, m.facts.Describe(c)),
			m.suggestResult(c))
	case declared == "" || g.Kind == declfile.GoArray || isPtr && !m.sameData(g.Elem, ptr.Type) ||
		!isPtr && !m.sameData(g, c):
		m.bad.Add(r.At, fmt.Sprintf("the result is %s, and %s returns %s", g.Words(), cName, m.facts.Describe(c)),
			m.suggestResult(c))
	}
	m.numberSize(c)
	m.p.Fields = append(m.p.Fields, declared)
	m.p.RetField = true
	m.p.RetStruct = g.Kind == declfile.GoMirror
	if g.Kind == declfile.GoPointer {
		m.p.RetCast = "(uintptr_t)"
	}
	return value
}

func (m *matcher) text(r *declfile.Param, g *declfile.GoType, ptr *dwarf.PtrType, c dwarf.Type) string {
	cName := m.f.Call.CName
	is := fmt.Sprintf("the result is %s, and %s returns %s", g, cName, m.facts.Describe(c))
	switch {
	case !m.isText(ptr.Type):
		m.bad.Add(r.At, is, m.suggestResult(c))
	case !cc.IsConst(ptr.Type):
		m.bad.Add(r.At, is+": a string that the caller has to free, perhaps",
			"wrap "+cName+" in a static inline function in the preamble that returns const char *, if C keeps the "+
				"string")
	case !m.f.Copies:
		m.bad.Add(r.At, is+": Go cannot know how long what it points to stays",
			"put //fastc:copy above "+m.f.Name+": Go gets a copy")
	}
	m.numberSize(ptr.Type)
	m.p.Fields = append(m.p.Fields, "const void *ret", "size_t ret_len")
	m.p.RetField, m.p.Copied = true, true
	return "string(unsafe.Slice((*byte)(fastc_f.ret), int(fastc_f.ret_len)))"
}

func (r *resolver) suggest(c dwarf.Type) string {
	if text := r.goFor(c); text != "" {
		return "declare " + text
	}
	switch b := cc.Bare(c).(type) {
	case *dwarf.StructType:
		if b.Incomplete || r.structName(b) != nil || !r.mirrorable(&declfile.Type{}, b) {
			return cc.WrapIt
		}
		if b.Kind == "struct" {
			return "declare type NAME C." + cgoName(c, b) + ", and NAME here"
		}
	case *dwarf.PtrType:
		switch t := cc.Bare(b.Type).(type) {
		case *dwarf.FuncType:
			return "pass nil in place of it: a leaf function cannot call back"
		case *dwarf.StructType:
			if strings.HasPrefix(t.StructName, "__") { // va_list and the like
				return cc.WrapIt
			}
			return "declare type NAME C." + cgoName(b.Type, t) + ", and *NAME here"
		}
	}
	return cc.WrapIt
}

// GoFor returns a Go type to write for a number or bool of C or a pointer to numbers, or nothing.
func GoFor(facts *cc.Facts, c dwarf.Type) string { return (&resolver{facts: facts}).goFor(c) }

// Suggest says what to write for a parameter of C.
func Suggest(facts *cc.Facts, c dwarf.Type) string { return (&resolver{facts: facts}).suggest(c) }

// SuggestResult says what to write for what C returns.
func SuggestResult(facts *cc.Facts, c dwarf.Type) string {
	return (&resolver{facts: facts}).suggestResult(c)
}

func (r *resolver) goFor(c dwarf.Type) string {
	if n, ok := r.facts.Number(c); ok {
		return n.GoName()
	}
	switch b := cc.Bare(c).(type) {
	case *dwarf.BoolType:
		return "bool"
	case *dwarf.StructType:
		if g := r.structName(b); g != nil && g.Kind == declfile.GoMirror {
			return g.Name
		}
	case *dwarf.PtrType:
		n, isNumber := r.facts.Number(b.Type)
		g := r.structName(cc.Bare(b.Type))
		switch {
		case cc.IsVoid(b.Type), isNumber && n.PlainChar:
			return "[]byte"
		case isNumber:
			return "[]" + n.GoName()
		case g != nil:
			return "*" + g.Name
		}
	}
	return ""
}

func (r *resolver) suggestOut(c dwarf.Type) string {
	ptr := cc.Pointer(c)
	switch t := cc.Bare(ptr.Type).(type) {
	case *dwarf.PtrType:
		return r.suggestHandle(t.Type)
	case *dwarf.StructType:
		g := r.structName(t)
		if g == nil && r.mirrorable(&declfile.Type{}, t) || g != nil && g.Kind == declfile.GoMirror {
			return r.suggest(ptr.Type)
		}
	default:
		if text := r.goFor(ptr.Type); text != "" {
			return "declare " + text
		}
	}
	return "pass a parameter, not a result: " + r.suggest(c)
}

func (r *resolver) suggestResult(c dwarf.Type) string {
	ptr := cc.Pointer(c)
	if ptr == nil {
		if text := r.suggest(c); text != cc.WrapIt {
			return text + " as the result"
		}
		return cc.WrapIt
	}
	n, isNumber := r.facts.Number(ptr.Type)
	if isNumber && n.PlainChar && cc.IsConst(ptr.Type) {
		return "declare string as the result, under //fastc:copy"
	}
	return r.suggestHandle(ptr.Type)
}

func (r *resolver) suggestHandle(c dwarf.Type) string {
	b := cc.Bare(c)
	s, ok := b.(*dwarf.StructType)
	if _, isFunc := b.(*dwarf.FuncType); isFunc {
		return "use ordinary cgo for this one: a leaf function cannot call back"
	}
	if cc.IsVoid(c) || b == nil {
		return "wrap the function in a static inline one in the preamble that gives struct NAME * in place of void " +
			"*, and declare type NAME C.struct_NAME under //fastc:opaque"
	}
	if !ok {
		return "wrap the function in a static inline one in the preamble that writes what it points to into a slice"
	}
	for _, g := range r.order {
		if g.Kind == declfile.GoOpaque && r.cType(g.Decl) == b {
			return "declare *" + g.Name
		}
	}
	return "declare type NAME C." + cgoName(c, s) + " under //fastc:opaque, and *NAME here"
}
