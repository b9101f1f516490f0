package initial

import (
	"debug/dwarf"
	"fmt"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
	"evenkeel.dev/cmd/fastcgen/internal/reach"
)

// parameters guesses the parameters and results of one function.
type parameters struct {
	*guesser
	u       *guess
	fn      *dwarf.FuncType
	names   map[string]bool
	lengths map[int]string // the number parameters that are len(x) or cap(x)
	slices  map[int]string // the names of slices, by the pointer parameters that they are
}

// at returns the origins of argument i, without nil.
func (p *parameters) at(i int) (list []origin, nils int) {
	for _, row := range p.u.origins {
		if row[i].kind == fromNil {
			nils++
		} else {
			list = append(list, row[i])
		}
	}
	return list, nils
}

// name returns a name for argument i that no other has.
func (p *parameters) name(i int) string {
	name := ""
	for _, row := range p.u.origins {
		if name == "" {
			name = row[i].name
		}
	}
	if name == "" || !token.IsIdentifier(name) || name == "_" {
		name = "arg" + strconv.Itoa(i+1)
	}
	return p.unique(strings.ToLower(name[:1]) + name[1:])
}

func (p *parameters) unique(name string) string {
	for n, i := name, 2; ; n, i = name+strconv.Itoa(i), i+1 {
		if !p.names[n] && !decl.Reserved[n] && !token.IsKeyword(n) && !p.isType(n) {
			p.names[n] = true
			return n
		}
	}
}

// isType reports whether a type of C in the signature would get that name.
func (p *parameters) isType(name string) bool {
	is := func(c dwarf.Type) bool {
		b, _ := p.facts.Bare(c)
		for {
			ptr, ok := b.(*dwarf.PtrType)
			if !ok {
				break
			}
			c = ptr.Type
			b, _ = p.facts.Bare(c)
		}
		if p.structOf(c) == nil {
			return false
		}
		of := goName(cgoName(c))
		return slices.Contains([]string{of, of + "C", of + "Handle", of + "Value"}, name)
	}
	for _, c := range p.fn.ParamType {
		if is(c) {
			return true
		}
	}
	return is(p.fn.ReturnType)
}

// pointer returns argument i as a pointer, nil when it is none.
func (p *parameters) pointer(i int) *dwarf.PtrType {
	b, _ := p.facts.Bare(p.fn.ParamType[i])
	ptr, _ := b.(*dwarf.PtrType)
	return ptr
}

// sameElements reports whether what an origin points to has the elements that C sees there.
func sameElements(o origin, size int64) bool { return !o.number && (!o.cast || o.size == size) }

// pair finds the length of what argument i points to: in one call C gets x and len(x), and in none x and
// the length of another thing in its place.
//
//	call site               argument i    argument j     agree or differ
//	C.sum(&a[0], len(a))    a             len of a       agree
//	C.sum(&b[0], 16)        b             a constant     neither: it may be known to be long enough
//	C.sum(&c[0], len(d))    c             len of d       differ: j is no length of i, at any site
//
// So one site that differs weighs more than all that agree, as the declaration has to be right for each of them.
func (p *parameters) pair(i int) {
	ptr := p.pointer(i)
	if ptr == nil {
		return
	}
	_, size := p.guesser.element(ptr)
	for j, c := range p.fn.ParamType {
		inout := p.pointer(j)
		if inout != nil && !cc.IsConst(inout.Type) { // a length that C changes: &n, and n begins as len(x)
			c = inout.Type
		}
		n, ok := p.facts.Number(c)
		if !ok || n.Class == decl.Float || n.Enum != nil || n.Size < 4 || p.lengths[j] != "" || inout != nil && n.Size != 8 {
			continue
		}
		kind, agree, differ := "len", 0, 0
		for s, row := range p.u.origins {
			of, length := row[i], row[j]
			if inout != nil {
				length = p.beginning(s, row[j])
			}
			if of.kind != fromSlice || length.kind != fromLen && length.kind != fromCap {
				continue
			}
			if of.key != length.key || !sameElements(of, size) {
				differ++
				continue
			}
			agree++
			if length.kind == fromCap {
				kind = "cap"
			}
		}
		if agree == 0 || differ > 0 {
			continue
		}
		if p.slices[i] == "" {
			p.slices[i] = p.name(i)
		}
		if inout == nil {
			p.lengths[j] = kind + "(" + p.slices[i] + ")"
		}
		p.u.length = true
		return
	}
}

// beginning returns what a variable that C gets the address of is set to, when that happens once.
func (p *parameters) beginning(site int, o origin) origin {
	t := p.tracer(p.u.sites[site])
	if values, known := t.assigned(o.variable); o.kind == fromAddress && known && len(values) == 1 {
		return t.trace(values[0])
	}
	return origin{}
}

// parameter declares argument i.
func (p *parameters) parameter(i int) {
	c := p.fn.ParamType[i]
	list, _ := p.at(i)
	if length := p.lengths[i]; length != "" {
		p.u.args = append(p.u.args, length)
		return
	}
	if ptr := p.pointer(i); ptr != nil {
		p.pointerTo(i, ptr)
		return
	}
	if typ := p.number(c); typ != "" {
		for _, o := range list {
			if o.number {
				p.u.ask("C gets an address as the number %s (%s). Write a static inline function in the preamble that takes a pointer there, "+
					"and a length, and declare that one: an address in a number keeps nothing alive.", cc.TypeText(c, ""), p.sites())
				p.u.words = true
				break
			}
		}
		if !p.constant(i) {
			p.pass(p.name(i), typ)
		}
		return
	}
	if t := p.mirror(p.u, c); t != nil {
		p.pass(p.name(i), t.goName)
		return
	}
	p.u.refuse("argument %d is %s, which Go does not have: wrap it in a static inline function whose types Go has too", i+1, p.facts.Describe(c))
}

// constant passes an integer that is the same constant in all calls, where C gets memory of Go: it may say how
// much of it C touches.
func (p *parameters) constant(i int) bool {
	n, ok := p.facts.Number(p.fn.ParamType[i])
	if !ok || n.Class == decl.Float || !p.memory() {
		return false
	}
	list, _ := p.at(i)
	if !all(list, func(o origin) bool { return o.kind == fromConstant }) {
		return false
	}
	if all(list, func(o origin) bool { return o.text == list[0].text }) {
		p.u.args = append(p.u.args, list[0].text)
		return true
	}
	p.u.ask("Argument %d is a constant, and not always the same (%s). Does it say how much memory C touches? If it does not, this is right.", i+1, p.sites())
	return false
}

// memory reports whether C gets memory of Go.
func (p *parameters) memory() bool {
	for _, row := range p.u.origins {
		for _, o := range row {
			if o.kind == fromSlice || o.kind == fromAddress {
				return true
			}
		}
	}
	return false
}

// pass adds a parameter that C gets.
func (p *parameters) pass(name, typ string) {
	p.u.params = append(p.u.params, guessParam{name, typ})
	p.u.args = append(p.u.args, name)
}

// sites names the first places of the calls.
func (p *parameters) sites() string {
	var list []string
	for _, c := range p.u.sites {
		list = append(list, short(c.at))
	}
	return reach.Some(list)
}

// pointerTo declares a pointer.
func (p *parameters) pointerTo(i int, ptr *dwarf.PtrType) {
	list, nils := p.at(i)
	if len(list) == 0 && nils > 0 {
		p.u.args = append(p.u.args, "nil")
		return
	}
	target, _ := p.facts.Bare(ptr.Type)
	switch target := target.(type) {
	case *dwarf.FuncType:
		p.u.refuse("it takes a pointer to a function: a leaf must not call back into Go")
		return
	case *dwarf.StructType:
		p.structPointer(i, ptr)
		return
	case *dwarf.PtrType:
		p.outHandle(i, target, list)
		return
	}
	elem, size := p.guesser.element(ptr)
	if elem == "" {
		p.u.refuse("argument %d is %s, which Go does not have: wrap it in a static inline function whose types Go has too", i+1, p.facts.Describe(p.fn.ParamType[i]))
		return
	}
	if name := p.slices[i]; name != "" {
		typ := "[]" + elem
		if cc.IsConst(ptr.Type) && elem == "byte" && all(list, func(o origin) bool { return o.kind != fromSlice || o.str }) {
			typ = "string"
		}
		p.pass(name, typ)
		return
	}
	if elements := list[0].elements; elements > 0 && nils == 0 && all(list, func(o origin) bool { return o.elements == elements && sameElements(o, size) }) {
		name := p.name(i)
		p.pass(name, "[]"+elem)
		p.u.clauses = append(p.u.clauses, fmt.Sprintf("require len(%s) >= %d", name, elements))
		return
	}
	switch {
	case all(list, func(o origin) bool { return o.kind == fromCString }):
		p.cString(i, elem, nils)
	case all(list, func(o origin) bool { return o.kind == fromAddress && sameElements(o, size) }):
		p.variable(i, elem, cc.IsConst(ptr.Type))
	default:
		p.unknownLength(i, elem)
	}
}

func all(list []origin, is func(origin) bool) bool {
	for _, o := range list {
		if !is(o) {
			return false
		}
	}
	return len(list) > 0
}

// unknownLength declares a pointer of which nothing says how much C touches there.
func (p *parameters) unknownLength(i int, elem string) {
	name := p.name(i)
	p.pass(name, "[]"+elem)
	p.u.clauses = append(p.u.clauses, "require len("+name+") >= ELEMENTS")
	p.u.ask("How many elements does C touch at %s (argument %d, %s; %s)? Write it in place of ELEMENTS: a number, C.NAME or what follows from "+
		"the other parameters. Memory of C is no slice of Go: wrap the function if that is what it gets.", name, i+1, p.facts.Describe(p.fn.ParamType[i]), p.sites())
}

// cString declares a string that ends in a zero byte.
func (p *parameters) cString(i int, elem string, nils int) {
	name := p.name(i)
	p.pass(name, "[]"+elem)
	p.u.clauses = append(p.u.clauses, fmt.Sprintf("require len(%[1]s) > 0 && %[1]s[len(%[1]s)-1] == 0", name))
	kept := nils > 0 || elem != "byte"
	for s, row := range p.u.origins {
		kept = kept || !p.tracer(p.u.sites[s]).freedWithin(row[i])
	}
	if kept {
		p.u.ask("Does C keep the string %s after the call (%s)? C.CString's memory is C's, this one is Go's. If it keeps it, or the string may be NULL, "+
			"leave C.%s() as it is.", name, p.sites(), p.u.cName)
	}
}

// variable declares a result that C writes, or a value that it reads, by the address of one variable.
func (p *parameters) variable(i int, elem string, constant bool) {
	name := p.name(i)
	if constant {
		p.pass(name, "*"+elem)
		return
	}
	p.u.args = append(p.u.args, "&"+name)
	p.u.results = append(p.u.results, guessParam{name, elem})
	if begin := p.begins(i, name, elem); begin != "" {
		p.u.clauses = append(p.u.clauses, "inout "+name+" = "+begin)
	}
}

// begins says what a variable holds before the call, empty for 0.
func (p *parameters) begins(i int, name, elem string) string {
	value := ""
	for s, row := range p.u.origins {
		t := p.tracer(p.u.sites[s])
		v, begin := row[i].variable, ""
		values, known := t.assigned(v)
		switch {
		case row[i].kind == fromNil || known && len(values) == 0:
			continue
		case known && len(values) == 1:
			o := t.trace(values[0])
			begin = p.known(o, elem)
		default:
			begin = "?"
		}
		if value != "" && begin != value {
			begin = "?"
		}
		value = begin
	}
	if value == "?" {
		value = p.unique(name + "Begin")
		p.u.params = append(p.u.params, guessParam{value, elem})
	}
	if value == "0" {
		return ""
	}
	return value
}

// known writes what a variable begins as when it is a number or the length of a slice that C gets too.
func (p *parameters) known(o origin, elem string) string {
	if o.kind == fromConstant && (token.IsIdentifier(strings.TrimPrefix(o.text, "C.")) || isDigits(o.text)) && elem != "bool" {
		return o.text
	}
	kind := map[originKind]string{fromLen: "len", fromCap: "cap"}[o.kind]
	if kind == "" || elem != "uint64" && elem != "int64" {
		return "?"
	}
	for i := range p.fn.ParamType {
		for _, row := range p.u.origins {
			if p.slices[i] != "" && row[i].kind == fromSlice && row[i].key == o.key {
				return kind + "(" + p.slices[i] + ")"
			}
		}
	}
	return "?"
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// structPointer declares a pointer to a struct: to Go's mirror where Go has values of it, and to what C
// keeps to itself where it has none.
func (p *parameters) structPointer(i int, ptr *dwarf.PtrType) {
	s := p.structOf(ptr.Type)
	if cgoName(ptr.Type) == "" || strings.HasPrefix(s.StructName, "__") {
		p.u.refuse("argument %d is %s", i+1, p.facts.Describe(p.fn.ParamType[i]))
		return
	}
	list, _ := p.at(i)
	ofGo := p.allocated[s] || slices.ContainsFunc(list, func(o origin) bool { return o.kind == fromSlice || o.kind == fromAddress })
	if !ofGo {
		p.pass(p.name(i), "*"+p.handle(p.u, ptr.Type).goName)
		return
	}
	t := p.mirror(p.u, ptr.Type)
	if t == nil {
		p.u.ask("Go has values of %s (%s), and no mirror of it is possible. Let C make and free them, and declare the type under //fastc:opaque, "+
			"or write a static inline function that takes its members.", cc.TypeText(cc.Unqualified(ptr.Type), ""), p.sites())
		p.u.words = true
		return
	}
	if name := p.slices[i]; name != "" {
		p.pass(name, "[]"+t.goName)
		return
	}
	if all(list, func(o origin) bool { return o.kind == fromAddress || o.one && !o.number }) {
		p.pass(p.name(i), "*"+t.goName)
		return
	}
	p.unknownLength(i, t.goName)
}

// outHandle declares a result that C puts a pointer to a struct into.
func (p *parameters) outHandle(i int, inner *dwarf.PtrType, list []origin) {
	s := p.structOf(inner.Type)
	if s == nil || cgoName(inner.Type) == "" || !all(list, func(o origin) bool { return o.kind == fromAddress && !o.number }) {
		p.u.refuse("argument %d is %s, a pointer to a pointer: wrap it in a static inline function whose types Go has too", i+1, p.facts.Describe(p.fn.ParamType[i]))
		return
	}
	name := p.name(i)
	p.u.args = append(p.u.args, "&"+name)
	p.u.results = append(p.u.results, guessParam{name, "*" + p.handle(p.u, inner.Type).goName})
	for s, row := range p.u.origins {
		values, known := p.tracer(p.u.sites[s]).assigned(row[i].variable)
		if row[i].variable == nil || !known || len(values) > 0 {
			p.u.ask("C may read what %s holds before the call (%s): fastcgen has it begin as NULL. Is that right?", name, p.sites())
			return
		}
	}
}
