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
)

type parameters struct {
	*guesser
	u       *guess
	fn      *dwarf.FuncType
	names   map[string]bool
	lengths map[int]string
	slices  map[int]string
	unknown []string
}

func (p *parameters) at(i int) (list []origin) {
	for _, row := range p.u.origins {
		if row[i].kind != isNil {
			list = append(list, row[i])
		}
	}
	return list
}

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

func (p *parameters) isType(name string) bool {
	for _, c := range append(slices.Clone(p.fn.ParamType), p.fn.ReturnType) {
		for ptr := p.facts.Pointer(c); ptr != nil; ptr = p.facts.Pointer(c) {
			c = ptr.Type
		}
		of := goName(cgoName(c))
		if p.structOf(c) != nil && slices.Contains([]string{of, of + "C", of + "Handle", of + "Value"}, name) {
			return true
		}
	}
	return false
}

func (p *parameters) canCount(j int) bool {
	n, ok := p.facts.Number(p.fn.ParamType[j])
	return ok && n.Class != decl.Float && n.Enum == nil && n.Size >= 4 && p.lengths[j] == ""
}

func sameElements(o origin, size int64) bool { return !o.cast || o.size == size }

// pair finds the argument that is the length of argument i: in each call C gets x and len(x).
func (p *parameters) pair(i int) {
	ptr := p.facts.Pointer(p.fn.ParamType[i])
	if ptr == nil {
		return
	}
	_, size := p.element(ptr)
	for j := range p.fn.ParamType {
		fn, agree := "", p.canCount(j)
		for _, row := range p.u.origins {
			x, n := row[i], row[j]
			switch {
			case x.kind == isNil:
			case x.kind == isSlice && n.kind == isLength && n.of == x.of && sameElements(x, size) &&
				(fn == "" || fn == n.fn):
				fn = n.fn
			default:
				agree = false
			}
		}
		if agree && fn != "" {
			p.slices[i] = p.name(i)
			p.lengths[j] = fn + "(" + p.slices[i] + ")"
			p.u.length = true
			return
		}
	}
}

func (p *parameters) parameter(i int) {
	if length := p.lengths[i]; length != "" {
		p.u.args = append(p.u.args, length)
		return
	}
	if ptr := p.facts.Pointer(p.fn.ParamType[i]); ptr != nil {
		p.pointerTo(i, ptr)
		return
	}
	c := p.fn.ParamType[i]
	if typ := p.number(c); typ != "" {
		if slices.ContainsFunc(p.at(i), func(o origin) bool { return o.kind == isSlice || o.kind == isAddress }) {
			p.u.refuse("it gets an address as a number, which keeps nothing alive: wrap it in a static inline " +
				"function " +
				"that takes a pointer there")
			return
		}
		p.pass(p.name(i), typ)
		return
	}
	if t := p.mirror(p.u, c); t != nil {
		p.pass(p.name(i), t.goName)
		return
	}
	p.refuseType(i)
}

func (p *parameters) refuseType(i int) {
	p.u.refuse("argument %d is %s, which Go does not have: wrap it in a static inline function whose types Go has too",
		i+1, p.facts.Describe(p.fn.ParamType[i]))
}

func param(name, typ string) decl.Param { return decl.Param{Name: name, Typ: &decl.GoType{Name: typ}} }

func (p *parameters) pass(name, typ string) {
	p.u.decl.Params = append(p.u.decl.Params, param(name, typ))
	p.u.args = append(p.u.args, name)
}

// elements is written in place of a length that only the user knows.
const elements = "ELEMENTS"

func (p *parameters) pointerTo(i int, ptr *dwarf.PtrType) {
	list := p.at(i)
	if len(list) == 0 {
		p.u.args = append(p.u.args, "nil")
		return
	}
	target, _ := p.facts.Bare(ptr.Type)
	switch target := target.(type) {
	case *dwarf.FuncType:
		p.u.refuse("it takes a pointer to a function: a leaf must not call back into Go")
		return
	case *dwarf.StructType:
		p.structPointer(i, ptr, list)
		return
	case *dwarf.PtrType:
		if p.structOf(target.Type) == nil || cgoName(target.Type) == "" || !all(list, isOne) {
			p.refuseType(i)
			return
		}
		p.written(i, "*"+p.handle(p.u, target.Type).goName)
		return
	}
	elem, size := p.element(ptr)
	isVoid := p.facts.IsVoid(ptr.Type) || target == nil
	n, _ := p.facts.Number(ptr.Type)
	isConst := cc.IsConst(ptr.Type)
	switch {
	case elem == "":
		p.refuseType(i)
	case p.slices[i] != "":
		typ := "[]" + elem
		if isConst && elem == "byte" && all(list, func(o origin) bool { return o.str }) {
			typ = "string"
		}
		p.pass(p.slices[i], typ)
	case all(list, func(o origin) bool { return isOne(o) && sameElements(o, size) }) && !isVoid:
		if isConst {
			p.pass(p.name(i), "*"+elem)
			return
		}
		p.written(i, elem)
	case isConst && n.PlainChar && !p.counts():
		p.text(i)
	default:
		p.unknownLength(i, elem)
	}
}

func isOne(o origin) bool { return o.kind == isAddress }

func all(list []origin, is func(origin) bool) bool {
	return !slices.ContainsFunc(list, func(o origin) bool { return !is(o) })
}

func (p *parameters) unknownLength(i int, elem string) {
	name := p.name(i)
	p.pass(name, "[]"+elem)
	p.u.clauses = append(p.u.clauses, "require len("+name+") >= "+elements)
	p.unknown = append(p.unknown, name)
}

func (p *parameters) text(i int) {
	name := p.name(i)
	p.pass(name, "[]byte")
	p.u.clauses = append(p.u.clauses, fmt.Sprintf("require len(%[1]s) > 0 && %[1]s[len(%[1]s)-1] == 0", name))
	p.u.ask("Does C read %s up to a zero byte, and keep no pointer to it? Then this is right.", name)
}

func (p *parameters) written(i int, typ string) {
	name := p.name(i)
	p.u.args = append(p.u.args, "&"+name)
	p.u.decl.Results = append(p.u.decl.Results, param(name, typ))
	p.u.ask("Does C read %s before it writes it? Then add //fastc:inout %[1]s = VALUE. If not, this is right.", name)
}

// structPointer declares a pointer to a mirror if Go has values of the struct.
func (p *parameters) structPointer(i int, ptr *dwarf.PtrType, list []origin) {
	s := p.structOf(ptr.Type)
	if cgoName(ptr.Type) == "" || strings.HasPrefix(s.StructName, "__") {
		p.refuseType(i)
		return
	}
	isOfGo := func(o origin) bool { return o.kind == isSlice || isOne(o) }
	if !p.allocated[s] && !slices.ContainsFunc(list, isOfGo) {
		p.pass(p.name(i), "*"+p.handle(p.u, ptr.Type).goName)
		return
	}
	t := p.mirror(p.u, ptr.Type)
	switch {
	case t == nil:
		p.u.refuse("Go has values of %s, and no mirror of it is possible: let C make and free them, or write a "+
			"static inline "+
			"function that takes its members", cc.TypeText(cc.Unqualified(ptr.Type), ""))
	case p.slices[i] != "":
		p.pass(p.slices[i], "[]"+t.goName)
	case all(list, isOne), !p.counts() && all(list, func(o origin) bool { return o.kind != isSlice }):
		p.pass(p.name(i), "*"+t.goName)
	default:
		p.unknownLength(i, t.goName)
	}
}

func (p *parameters) counts() bool {
	for j := range p.fn.ParamType {
		if p.canCount(j) {
			return true
		}
	}
	return false
}

func (p *parameters) result() {
	c := p.fn.ReturnType
	b, _ := p.facts.Bare(c)
	direct := ""
	switch b := b.(type) {
	case nil, *dwarf.VoidType:
	case *dwarf.StructType:
		if t := p.mirror(p.u, c); t != nil {
			direct = t.goName
			break
		}
		p.u.refuse("it returns %s, of which Go can have no mirror", p.facts.Describe(c))
	case *dwarf.PtrType:
		direct = p.pointerResult(b)
	default:
		if direct = p.number(c); direct == "" {
			p.u.refuse("it returns %s, which Go does not have", p.facts.Describe(c))
		}
	}
	if direct != "" {
		p.u.decl.Results = append([]decl.Param{param(p.unique("ret"), direct)}, p.u.decl.Results...)
	}
	p.keeps()
	if slices.ContainsFunc(p.u.sites, func(c *cgoCall) bool { return c.errno }) {
		p.u.decl.HasError, p.u.decl.ErrName = true, "err"
		p.u.clauses = append(p.u.clauses, "fails errno != 0")
	}
}

// keeps asks whether a struct that C makes keeps memory of Go. A goroutine's stack may move.
func (p *parameters) keeps() {
	opaque := func(typ string) bool {
		return slices.ContainsFunc(p.u.types, func(t *guessType) bool { return t.opaque && typ == "*"+t.goName })
	}
	if !slices.ContainsFunc(p.u.decl.Results, func(r decl.Param) bool { return opaque(r.Typ.Name) }) {
		return
	}
	for _, param := range p.u.decl.Params {
		typ := param.Typ.Name
		if typ == "string" || strings.HasPrefix(typ, "[]") || strings.HasPrefix(typ, "*") && !opaque(typ) {
			p.u.ask("Does what it returns keep a pointer to %s, which is memory of Go? Then leave C.%s() as it is. "+
				"If C has a copy, this is right.", param.Name, p.u.cName)
		}
	}
}

func (p *parameters) pointerResult(ptr *dwarf.PtrType) string {
	if s := p.structOf(ptr.Type); s != nil && cgoName(ptr.Type) != "" {
		return "*" + p.handle(p.u, ptr.Type).goName
	}
	if n, _ := p.facts.Number(ptr.Type); !n.PlainChar || !cc.IsConst(ptr.Type) {
		p.u.refuse("it returns %s: Go cannot know how long that stays. Wrap it in a static inline function "+
			"that writes what it points to into a slice", p.facts.Describe(p.fn.ReturnType))
		return ""
	}
	p.u.clauses = append(p.u.clauses, "copy")
	p.u.ask("Does the string that it returns end in a zero byte, and does C keep it? Then this is right, and Go gets " +
		"a copy.")
	return "string"
}
