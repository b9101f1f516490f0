package initial

import (
	"debug/dwarf"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/declfile"
	"evenkeel.dev/cmd/fastcgen/internal/match"
)

type guess struct {
	cName, goName string
	at            token.Position
	calls         []*cgoCall
	params        []dwarf.Type
	result        dwarf.Type
	decl          declfile.Func
	args          []string
	clauses       []string
	types         []*declfile.Type
	unknown       []string // parameters of which C does not say how many elements it touches
	refused       string   // why it stays C.NAME()
}

// elements is written in place of a length that only the user knows.
const elements = "ELEMENTS"

func (u *guess) refuse(format string, args ...any) {
	if u.refused == "" {
		u.refused = fmt.Sprintf(format, args...)
	}
}

// typeText is the name in C, which may be that of a type.
func (u *guess) typeText() string { return (&declfile.Type{CName: u.cName}).CText() }

func functionOf(facts *cc.Facts, name string) *dwarf.FuncType {
	fn, _ := cc.Bare(facts.Funcs[name]).(*dwarf.FuncType)
	return fn
}

type guesser struct {
	facts     *cc.Facts
	info      *types.Info
	list      []*guess
	functions map[string]bool
	taken     map[string]bool
	owned     map[*dwarf.StructType]bool // structs to which C returns pointers
	types     map[structType]*declfile.Type
}

type structType struct {
	of     *dwarf.StructType
	opaque bool
}

func newGuesser(facts *cc.Facts, info *types.Info, pkg *cc.Package, list []*guess) *guesser {
	g := &guesser{
		facts: facts, info: info, list: list, functions: map[string]bool{}, taken: map[string]bool{},
		owned: map[*dwarf.StructType]bool{}, types: map[structType]*declfile.Type{},
	}
	for name := range pkg.Declared() {
		g.taken[name] = true
	}
	return g
}

func (g *guesser) all() {
	for _, u := range g.list {
		g.functions[u.cName] = true
		u.goName = g.free(goName(u.cName))
		fn := functionOf(g.facts, u.typeText())
		u.params, u.result = fn.ParamType, fn.ReturnType
		if ptr := cc.Pointer(fn.ReturnType); ptr != nil {
			g.owned[cc.Struct(ptr.Type)] = true
		}
	}
	for _, u := range g.list {
		g.guess(u)
	}
}

func (g *guesser) free(name string) string {
	for g.taken[name] || declfile.Reserved(name) || token.IsKeyword(name) {
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

func (g *guesser) guess(u *guess) {
	for _, t := range append(slices.Clone(u.params), u.result) {
		if _, ok := t.(*dwarf.DotDotDotType); ok {
			u.refuse("it has variable arguments, or no prototype: write (void) where C takes none")
			return
		}
		if what := cc.Unwritable(t); what != "" {
			u.refuse("its signature has %s", what)
			return
		}
	}
	for _, c := range u.calls {
		if len(c.args) != len(u.params) {
			u.refuse("%s passes %s, and C declares %d", c.at, declfile.Plural(len(c.args), "argument"), len(u.params))
			return
		}
	}
	g.result(u, u.result)
	lengths, slice := map[int]string{}, map[int]bool{}
	names := make([]string, len(u.params))
	for i, c := range u.params {
		names[i] = g.name(u, i, names)
		if ptr := cc.Pointer(c); ptr != nil {
			if j, ok := g.length(u, i, ptr); ok && lengths[j] == "" {
				lengths[j], slice[i] = "len("+names[i]+")", true
			}
		}
	}
	for i := range u.params {
		if lengths[i] != "" {
			u.args = append(u.args, lengths[i])
			continue
		}
		g.parameter(u, i, names[i], slice[i])
	}
	if len(lengths) > 0 { // its time grows with its input
		u.clauses = append(u.clauses, "budget")
	}
}

// name names a parameter after the variable in a call, if there is one.
func (g *guesser) name(u *guess, i int, names []string) string {
	name := "arg" + strconv.Itoa(i+1)
	for _, c := range u.calls {
		if n := g.nameOf(c.args[i]); n != "nil" && n != "_" && declfile.CIdentifier.MatchString(n) {
			name = strings.ToLower(n[:1]) + n[1:]
			break
		}
	}
	for n, k := name, 2; ; n, k = name+strconv.Itoa(k), k+1 {
		if !slices.Contains(names, n) && !g.taken[n] && !declfile.Reserved(n) && token.IsIdentifier(n) {
			return n
		}
	}
}

func (g *guesser) parameter(u *guess, i int, name string, hasLength bool) {
	c := u.params[i]
	ptr := cc.Pointer(c)
	if ptr != nil && u.isNil(i) {
		u.args = append(u.args, "nil")
		return
	}
	typ := match.GoFor(g.facts, c)
	isSlice := strings.HasPrefix(typ, "[]")
	switch {
	case ptr == nil && g.ofGo(u, i):
		u.refuse("argument %d is an address as a number, which keeps nothing alive: wrap the function in a static "+
			"inline one that takes a pointer", i+1)
		return
	case typ != "":
	case ptr == nil && g.canMirror(c):
		typ = g.declare(u, c, false)
	case ptr != nil && g.canHandle(ptr.Type) && !g.ofGo(u, i):
		typ = "*" + g.declare(u, ptr.Type, true)
	case ptr != nil && g.canMirror(ptr.Type):
		typ = "*" + g.declare(u, ptr.Type, false)
		if isSlice = hasLength || g.mayBeMany(u, i); isSlice {
			typ = "[]" + typ[1:]
		}
	default:
		do := match.Suggest(g.facts, c)
		if ptr != nil && cc.Struct(ptr.Type) != nil {
			do = "Go has values of it and can have no mirror, so let C make and free them"
		} else if ptr != nil && cc.Pointer(ptr.Type) != nil {
			do = "pass &x there, a result of Go, or " + cc.WrapIt
		}
		u.refuse("argument %d is %s: %s", i+1, g.facts.Describe(c), do)
		return
	}
	if typ == "[]uint8" {
		typ = "[]byte"
	}
	if isSlice && !hasLength {
		u.clauses = append(u.clauses, "require len("+name+") >= "+elements)
		u.unknown = append(u.unknown, name)
	}
	u.decl.Params = append(u.decl.Params, declfile.Param{Name: name, Typ: &declfile.GoType{Name: typ}})
	u.args = append(u.args, name)
}

// ofGo reports whether a call passes the address of a variable of Go.
func (g *guesser) ofGo(u *guess, i int) bool {
	return slices.ContainsFunc(u.calls, func(c *cgoCall) bool {
		e, _ := g.bare(c.args[i])
		x, _ := g.first(e)
		address, ok := e.(*ast.UnaryExpr)
		return x != nil || ok && address.Op == token.AND
	})
}

// mayBeMany reports whether C may touch more than one struct at argument i.
func (g *guesser) mayBeMany(u *guess, i int) bool {
	return slices.ContainsFunc(u.params, g.canCount) || slices.ContainsFunc(u.calls, func(c *cgoCall) bool {
		x, _ := g.first(c.args[i])
		return x != nil
	})
}

func (g *guesser) result(u *guess, c dwarf.Type) {
	typ, ptr := match.GoFor(g.facts, c), cc.Pointer(c)
	switch {
	case ptr != nil && g.canHandle(ptr.Type):
		typ = "*" + g.declare(u, ptr.Type, true)
	case ptr != nil:
		u.refuse("it returns %s, and Go cannot know how long that stays: %s", g.facts.Describe(c),
			match.SuggestResult(g.facts, c))
	case g.canMirror(c):
		typ = g.declare(u, c, false)
	case typ == "" && c != nil && !cc.IsVoid(c):
		u.refuse("it returns %s: %s", g.facts.Describe(c), match.SuggestResult(g.facts, c))
	}
	if typ != "" {
		u.decl.Results = []declfile.Param{{Typ: &declfile.GoType{Name: typ}}}
	}
	if slices.ContainsFunc(u.calls, func(c *cgoCall) bool { return c.errno }) {
		u.decl.HasError = true
		u.clauses = append(u.clauses, "fails errno != 0")
	}
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

func (g *guesser) canMirror(c dwarf.Type) bool {
	s := cc.Struct(c)
	return s != nil && s.Kind == "struct" && match.CanMirror(g.facts, s)
}

// canHandle reports whether c is a struct of which Go has only pointers: C returns them, or Go can
// have no mirror of it.
func (g *guesser) canHandle(c dwarf.Type) bool {
	s := cc.Struct(c)
	return s != nil && cgoName(c) != "" && !strings.HasPrefix(s.StructName, "__") && (g.owned[s] || !g.canMirror(c))
}

// declare returns the Go name of a struct, which u uses. A mirror uses the structs within.
func (g *guesser) declare(u *guess, c dwarf.Type, opaque bool) string {
	s := cc.Struct(c)
	key := structType{s, opaque}
	t := g.types[key]
	if t == nil {
		t = &declfile.Type{Name: g.free(goName(cgoName(c))), CName: cgoName(c), Opaque: opaque}
		g.types[key] = t
	}
	for _, f := range s.Field {
		inner := cc.Element(f.Type)
		if !opaque && cc.Struct(inner) != nil {
			g.declare(u, inner, false)
		}
	}
	if !slices.Contains(u.types, t) {
		u.types = append(u.types, t)
	}
	return t.Name
}
