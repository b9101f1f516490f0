package initial

import (
	"debug/dwarf"
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
	"evenkeel.dev/cmd/fastcgen/internal/match"
)

type guess struct {
	cName, goName string
	sites         []*cgoCall
	origins       [][]origin
	decl          decl.Func
	args          []string
	clauses       []string
	types         []*guessType
	questions     []string // only the user knows the answers: the declaration is in a comment
	refused       string   // why it stays C.NAME()
	slow          string   // why it goes by ordinary cgo
	outside       bool     // it reaches code outside the package, with a question
	length        bool     // C gets the length of something
}

type guessType struct {
	goName, cName string
	opaque        bool
}

type guesser struct {
	facts     *cc.Facts
	uses      *cgoUses
	names     *cNames
	tracer    *tracer
	allocated map[dwarf.Type]bool // structs of which Go has values
	taken     map[string]bool
	opaque    map[dwarf.Type]*guessType
	mirrors   map[dwarf.Type]*guessType
}

func newGuesser(
	facts *cc.Facts, uses *cgoUses, info *types.Info, pkg *cc.Package, names *cNames,
) *guesser {
	declared, _ := pkg.Declared()
	g := &guesser{
		facts: facts, uses: uses, names: names, allocated: map[dwarf.Type]bool{},
		tracer: &tracer{
			info: info, isC: func(name string) bool { return names.functions[name] },
		},
		taken: map[string]bool{}, opaque: map[dwarf.Type]*guessType{}, mirrors: map[dwarf.Type]*guessType{},
	}
	for name := range declared {
		g.taken[name] = true
	}
	for name := range uses.allocated {
		if t := facts.Types[(&decl.Type{CName: name}).CText()]; t != nil {
			b, _ := facts.Bare(t)
			g.allocated[b] = true
		}
	}
	return g
}

func (g *guesser) all() []*guess {
	var list []*guess
	byName := map[string]*guess{}
	for _, c := range g.uses.calls {
		if !g.names.functions[c.name] {
			continue
		}
		if byName[c.name] == nil {
			byName[c.name] = &guess{cName: c.name}
			list = append(list, byName[c.name])
		}
		byName[c.name].sites = append(byName[c.name].sites, c)
	}
	for _, u := range list {
		u.goName = g.free(goName(u.cName))
	}
	for _, u := range list {
		g.guess(u)
	}
	return list
}

func (g *guesser) free(name string) string {
	for g.taken[name] || decl.Reserved[name] || token.IsKeyword(name) {
		name += "C"
	}
	g.taken[name] = true
	return name
}

// goName makes an unexported Go name of a C one: ZSTD_compressCCtx is zstdCompressCCtx.
func goName(c string) string {
	c = strings.TrimSuffix(strings.TrimPrefix(c, "struct_"), "_t")
	var b strings.Builder
	for part := range strings.SplitSeq(c, "_") {
		switch {
		case part == "":
		case b.Len() > 0:
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		case part == strings.ToUpper(part):
			b.WriteString(strings.ToLower(part))
		default:
			b.WriteString(strings.ToLower(part[:1]) + part[1:])
		}
	}
	if name := b.String(); token.IsIdentifier(name) || token.IsKeyword(name) {
		return name
	}
	return "c" + c
}

func (u *guess) ask(format string, args ...any) {
	if q := fmt.Sprintf(format, args...); !slices.Contains(u.questions, q) {
		u.questions = append(u.questions, q)
	}
}

func (u *guess) refuse(format string, args ...any) {
	if u.refused == "" {
		u.refused = fmt.Sprintf(format, args...)
	}
}

func (g *guesser) guess(u *guess) {
	b, _ := g.facts.Bare(g.facts.Funcs[u.cName])
	fn, ok := b.(*dwarf.FuncType)
	if !ok {
		u.refuse("it is no function in C")
		return
	}
	for _, t := range append(slices.Clone(fn.ParamType), fn.ReturnType) {
		if _, ok := t.(*dwarf.DotDotDotType); ok {
			u.refuse("it has variable arguments, or no prototype: write (void) where C takes none")
			return
		}
		if what := g.facts.Unwritable(t); t != nil && what != "" {
			u.refuse("its signature has %s", what)
			return
		}
	}
	for _, c := range u.sites {
		if len(c.args) != len(fn.ParamType) {
			u.refuse("%s passes %s, and C declares %s", short(c.at), decl.Plural(len(c.args), "argument"),
				decl.Plural(len(fn.ParamType), "argument"))
			return
		}
		row := make([]origin, len(c.args))
		for i, e := range c.args {
			row[i] = g.tracer.trace(e)
		}
		u.origins = append(u.origins, row)
	}
	p := &parameters{
		guesser: g, u: u, fn: fn, names: map[string]bool{}, lengths: map[int]string{},
		slices: map[int]string{},
	}
	for i := range fn.ParamType { // arguments with a length first
		p.pair(i)
	}
	for i := range fn.ParamType {
		p.parameter(i)
	}
	if len(p.unknown) > 0 {
		u.ask("How many elements does C touch at %s? Write it in place of %s.", strings.Join(p.unknown, ", "), elements)
	}
	p.result()
}

func (g *guesser) number(c dwarf.Type) string {
	n, ok := g.facts.Number(c)
	b, _ := g.facts.Bare(c)
	_, isBool := b.(*dwarf.BoolType)
	typedef, _ := cc.Unqualified(c).(*dwarf.TypedefType)
	switch {
	case isBool && b.Size() == 1:
		return "bool"
	case !ok:
		return ""
	case n.PlainChar:
		return "byte"
	case typedef != nil && typedef.Name == "uintptr_t" && n.Size == 8:
		return "uintptr"
	}
	return n.GoName()
}

func (g *guesser) element(ptr *dwarf.PtrType) (name string, size int64) {
	b, _ := g.facts.Bare(ptr.Type)
	if _, ok := b.(*dwarf.VoidType); ok || b == nil {
		return "byte", 1
	}
	switch name = g.number(ptr.Type); name {
	case "uintptr":
		name = "uint64"
	case "uint8":
		name = "byte"
	}
	return name, b.Size()
}

func (g *guesser) structOf(c dwarf.Type) *dwarf.StructType {
	b, _ := g.facts.Bare(c)
	s, _ := b.(*dwarf.StructType)
	return s
}

func cgoName(c dwarf.Type) string {
	switch t := cc.Unqualified(c).(type) {
	case *dwarf.TypedefType:
		return t.Name
	case *dwarf.StructType:
		return t.Kind + "_" + t.StructName
	}
	return ""
}

// handle returns the opaque type for a struct of C.
func (g *guesser) handle(u *guess, c dwarf.Type) *guessType {
	s := g.structOf(c)
	t := g.opaque[s]
	if t == nil {
		name := goName(cgoName(c))
		if g.mirrors[s] != nil {
			name += "Handle"
		}
		t = &guessType{g.free(name), cgoName(c), true}
		g.opaque[s] = t
	}
	u.uses(t)
	return t
}

func (g *guesser) mirror(u *guess, c dwarf.Type) *guessType {
	s := g.structOf(c)
	if s == nil || s.Kind != "struct" || s.Incomplete || !match.CanMirror(g.facts, s) {
		return nil
	}
	t := g.mirrors[s]
	if t == nil {
		name := goName(cgoName(c))
		if g.opaque[s] != nil {
			name += "Value"
		}
		t = &guessType{g.free(name), cgoName(c), false}
		g.mirrors[s] = t
	}
	for _, f := range s.Field {
		inner := f.Type
		for {
			b, _ := g.facts.Bare(inner)
			a, ok := b.(*dwarf.ArrayType)
			if !ok {
				break
			}
			inner = a.Type
		}
		if g.structOf(inner) != nil && !cc.Anonymous(inner) {
			g.mirror(u, inner)
		}
	}
	u.uses(t)
	return t
}

func (u *guess) uses(t *guessType) {
	if !slices.Contains(u.types, t) {
		u.types = append(u.types, t)
	}
}
