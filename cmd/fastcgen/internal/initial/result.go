package initial

import (
	"debug/dwarf"
	"slices"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
)

// result declares what the function returns, and errno.
func (p *parameters) result() {
	c := p.fn.ReturnType
	b, _ := p.facts.Bare(c)
	direct := ""
	switch b := b.(type) {
	case nil, *dwarf.VoidType:
	case *dwarf.StructType:
		t := p.mirror(p.u, c)
		if t == nil {
			p.u.refuse("it returns %s, of which Go can have no mirror", p.facts.Describe(c))
			return
		}
		direct = t.goName
	case *dwarf.PtrType:
		if direct = p.pointerResult(b); direct == "" {
			return
		}
	default:
		if direct = p.number(c); direct == "" {
			p.u.refuse("it returns %s, which Go does not have", p.facts.Describe(c))
			return
		}
	}
	if direct != "" {
		p.u.results = append([]guessParam{{p.unique("ret"), direct}}, p.u.results...)
	}
	p.keeps()
	for _, site := range p.u.sites {
		p.u.hasError = p.u.hasError || site.errno
	}
	if p.u.hasError {
		p.u.clauses = append(p.u.clauses, "fails errno != 0")
	}
}

// keeps asks whether a struct that C makes keeps memory of Go, which may move with a goroutine's stack.
func (p *parameters) keeps() {
	opaque := func(typ string) bool {
		return slices.ContainsFunc(p.u.types, func(t *guessType) bool { return t.opaque && typ == "*"+t.goName })
	}
	if !slices.ContainsFunc(p.u.results, func(r guessParam) bool { return opaque(r.typ) }) {
		return
	}
	for _, param := range p.u.params {
		if slices.ContainsFunc(p.u.clauses, func(c string) bool { return strings.HasSuffix(c, param.name+"[len("+param.name+")-1] == 0") }) {
			continue // cString asks
		}
		if param.typ == "string" || strings.HasPrefix(param.typ, "[]") || strings.HasPrefix(param.typ, "*") && !opaque(param.typ) {
			p.u.ask("Does what it returns keep a pointer to %s (%s)? That is memory of Go. If it does, leave C.%s() as it is; if C has a copy, this is right.",
				param.name, p.sites(), p.u.cName)
		}
	}
}

// pointerResult returns the Go type of a pointer that C returns, empty when there is none.
func (p *parameters) pointerResult(ptr *dwarf.PtrType) string {
	if s := p.structOf(ptr.Type); s != nil && cgoName(ptr.Type) != "" {
		return "*" + p.handle(p.u, ptr.Type).goName
	}
	elem, _ := p.guesser.element(ptr)
	b, _ := p.facts.Bare(ptr.Type)
	if _, isVoid := b.(*dwarf.VoidType); elem != "byte" || isVoid || b == nil {
		p.u.refuse("it returns %s: Go cannot know how long that stays. Wrap it in a static inline function that writes what it points to into a slice",
			p.facts.Describe(p.fn.ReturnType))
		return ""
	}
	if !cc.IsConst(ptr.Type) {
		p.u.ask("Who frees the string that it returns (%s)? If C keeps it, wrap %s in a static inline function that returns const char * and declare that one "+
			"with a string result under //fastc:copy; if the caller frees it, leave C.%[2]s() as it is.", p.sites(), p.u.cName)
		p.u.words = true
		return ""
	}
	p.u.clauses = append(p.u.clauses, "copy")
	for _, c := range p.u.sites {
		t := p.tracer(c)
		if !c.text && !p.tracer(c).becomesText(c.result) || t.freed(c.result) {
			p.u.ask("Does the string that it returns end in a zero byte, and does C keep it (%s)? Then this is right: Go gets a copy.", p.sites())
			break
		}
	}
	return "string"
}
