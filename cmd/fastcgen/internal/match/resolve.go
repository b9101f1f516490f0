package match

import (
	"debug/dwarf"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/declfile"
)

type resolver struct {
	facts    *cc.Facts
	declared map[string]*declfile.GoType
	order    []*declfile.GoType
	trying   bool // a struct within another one needs no declaration
	bad      declfile.Problems
}

func (r *resolver) cType(t *declfile.Type) dwarf.Type { return cc.Bare(r.facts.Types[t.CText()]) }

var basic = map[string]declfile.GoKind{"bool": declfile.GoBool, "string": declfile.GoString}

// resolve replaces the names in a type. ok is false if one is unknown.
func (r *resolver) resolve(t *declfile.GoType) (res *declfile.GoType, ok bool) {
	if t.Kind != declfile.GoNamed {
		c := *t
		if t.Elem != nil {
			if c.Elem, ok = r.resolve(t.Elem); !ok {
				return c.Elem, false
			}
		}
		return &c, true
	}
	if g := r.declared[t.Name]; g != nil {
		return g, true
	}
	if n, found := declfile.Numbers[t.Name]; found {
		return &declfile.GoType{Kind: declfile.GoNumber, Name: t.Name, Num: n}, true
	}
	kind, ok := basic[t.Name]
	return &declfile.GoType{Kind: kind, Name: t.Name}, ok
}

// structName returns the declared type that mirrors a C struct, or nil.
func (r *resolver) structName(c dwarf.Type) *declfile.GoType {
	for _, g := range r.order {
		if (g.Kind == declfile.GoMirror || g.Kind == declfile.GoOpaque) && r.cType(g.Decl) == c {
			return g
		}
	}
	return nil
}

// sameData reports whether Go's g and C's c are the same bytes, because nothing converts what is
// behind an address. C must not ask for more alignment than Go's memory has.
func (r *resolver) sameData(g *declfile.GoType, c dwarf.Type) bool {
	b, aligned := cc.Bare(c), r.facts.Alignment(c)
	switch g.Kind {
	case declfile.GoNumber:
		n, ok := r.facts.Number(c)
		return ok && n.Is(g.Num)
	case declfile.GoBool:
		return cc.IsBool(b) && b.Size() == 1
	case declfile.GoMirror:
		return aligned <= 8 && r.cType(g.Decl) == b
	case declfile.GoOpaque: // C allocates it
		return r.cType(g.Decl) == b
	case declfile.GoArray:
		a, ok := b.(*dwarf.ArrayType)
		return ok && a.Count == g.Len && aligned <= 1 && !r.facts.Odd[b].Vector && r.sameData(g.Elem, a.Type)
	}
	return false
}

func (m *matcher) passesLen(name string) bool {
	return slices.ContainsFunc(m.f.Call.Args, func(a declfile.Arg) bool {
		return a.Kind == declfile.ArgLen && a.Text == name
	})
}

func (m *matcher) asVoid(name string) bool {
	for i, a := range m.f.Call.Args {
		ptr := cc.Pointer(m.c.ParamType[i])
		if ptr != nil && a.Kind == declfile.ArgParam && a.Text == name && cc.IsVoid(ptr.Type) {
			return true
		}
	}
	return false
}

// nameless refuses types that generated code cannot write.
func (m *matcher) nameless() bool {
	before := len(m.bad)
	note := func(where string, t dwarf.Type) {
		if what := cc.Unwritable(t); what != "" {
			m.bad.Add(m.f.Call.At, where+" of "+m.f.Call.CName+" is "+what, cc.WrapIt)
		}
	}
	for i, t := range m.c.ParamType {
		note(fmt.Sprintf("argument %d", i+1), t)
	}
	note("the result", m.c.ReturnType)
	return len(m.bad) > before
}

func (m *matcher) element(g *declfile.GoType) (bad, do string) {
	e := g.Elem
	for e.Kind == declfile.GoArray {
		e = e.Elem
	}
	switch {
	case e.Kind == declfile.GoNumber, e.Kind == declfile.GoBool, e.Kind == declfile.GoMirror,
		e.Kind == declfile.GoOpaque && g.Kind == declfile.GoPointer && g.Elem == e:
		return "", ""
	case e.Kind == declfile.GoOpaque:
		return "values of " + e.Name + " do not exist in Go", "pass a *" + e.Name
	}
	return "C would find Go's " + e.String() + " in it", ""
}

// points reports whether C's pointer to c can be Go's g, a slice, pointer or array.
func (m *matcher) points(g *declfile.GoType, c dwarf.Type) bool {
	if m.sameData(g.Elem, c) {
		return true
	}
	switch { // an array decays to a pointer to its first element, or keeps its type behind one
	case g.Kind == declfile.GoPointer && g.Elem.Kind == declfile.GoArray:
		return m.sameData(g.Elem.Elem, c)
	case g.Kind == declfile.GoArray:
		return m.sameData(&declfile.GoType{Kind: declfile.GoArray, Len: g.Len, Elem: g.Elem}, c)
	}
	return false
}

// literal passes a literal or a constant of C, and returns what is wrong. C would convert it
// without a word. So literal compares a literal with the type's range, and has C assert
// (type)(CONSTANT) == (CONSTANT).
func (m *matcher) literal(a declfile.Arg, c dwarf.Type) string {
	n, isNumber := m.facts.Number(c)
	text, ok := a.Text, true
	switch a.Kind {
	case declfile.ArgInt, declfile.ArgFloat:
		switch ok = isNumber; {
		case !ok:
		case n.Class == declfile.Float:
			text, ok = floatText(text, n)
		default:
			text, ok = intText(text), a.Kind == declfile.ArgInt && fits(text, n)
		}
	case declfile.ArgBool:
		ok = cc.IsBool(c)
		text = map[string]string{"true": "1", "false": "0"}[text]
	case declfile.ArgNil:
		ok = cc.Pointer(c) != nil
		text = "(void *)0"
	case declfile.ArgC:
		ok = m.constantFits(a.Text, c)
		if t := cc.TypeText(cc.Unqualified(c), ""); ok && isNumber && !cc.Anonymous(c) {
			m.p.Fits = append(m.p.Fits, fmt.Sprintf("_Static_assert(__builtin_choose_expr(__builtin_constant_p(%s), "+
				"(%s)(%s) == (%s), 1), %q);",
				a.Text, t, a.Text, a.Text, a.Text+" does not fit "+t))
		}
	}
	m.p.Args = append(m.p.Args, text)
	if !ok {
		return a.String()
	}
	return ""
}

func (m *matcher) constantFits(name string, c dwarf.Type) bool {
	has := cc.Bare(m.facts.Consts[name])
	k, fromNumber := m.facts.Number(has)
	fromInt := fromNumber && k.Class != declfile.Float
	n, isNumber := m.facts.Number(cc.Bare(c))
	switch {
	case isNumber:
		return fromInt || fromNumber && n.Class == declfile.Float
	case cc.IsBool(c):
		return fromInt || cc.IsBool(has)
	}
	_, fromArray := has.(*dwarf.ArrayType)
	return cc.Pointer(c) != nil && (fromArray || cc.Pointer(has) != nil)
}

func fits(text string, n cc.Number) bool {
	bits := int(n.Size * 8)
	var err error
	switch {
	case n.PlainChar:
		_, err = strconv.ParseUint(text, 10, bits-1)
	case n.Class == declfile.Unsigned:
		_, err = strconv.ParseUint(text, 10, bits)
	default:
		_, err = strconv.ParseInt(text, 10, bits)
	}
	return err == nil
}

func intText(text string) string {
	if text == strconv.FormatInt(math.MinInt64, 10) { // in C a minus and a number, which is too big
		return "(-9223372036854775807 - 1)"
	}
	if _, err := strconv.ParseInt(text, 10, 64); err != nil {
		return text + "ULL"
	}
	return text
}

func floatText(text string, n cc.Number) (s string, ok bool) {
	s = strings.ReplaceAll(text, "_", "")
	if i, isInt := new(big.Int).SetString(s, 0); isInt {
		s = i.String() + ".0"
	}
	_, err := strconv.ParseFloat(s, int(n.Size*8))
	return s, err == nil
}

func (m *matcher) length(i int, a declfile.Arg, c dwarf.Type, field string) {
	g, ok := m.resolve(m.f.Param(a.Text).Typ)
	pointed := ok && g.Kind == declfile.GoPointer && g.Elem.Kind == declfile.GoArray
	if !ok || g.Kind != declfile.GoSlice && g.Kind != declfile.GoArray && g.Kind != declfile.GoString && !pointed {
		m.bad.Add(a.At, fmt.Sprintf("%s, and %s is %s", a, a.Text, g), "write "+a.Text+" in place of "+a.String())
		return
	}
	if elem := g.Elem; elem != nil && m.asVoid(a.Text) {
		if pointed {
			elem = elem.Elem
		}
		if elem.Kind != declfile.GoBool && (elem.Kind != declfile.GoNumber || elem.Num.Size != 1) {
			m.bad.Add(a.At, fmt.Sprintf("%s, and %s gets %s, a %s, as a pointer to void: C counts bytes there, Go "+
				"elements", a, m.f.Call.CName, a.Text, g),
				"declare "+a.Text+" []byte")
			return
		}
	}
	n, ok := m.facts.Number(c)
	if !ok || n.Class == declfile.Float || n.Enum != nil || n.Size < 4 {
		m.bad.Add(a.At, fmt.Sprintf("%s for argument %d of %s, which is %s", a, i+1, m.f.Call.CName,
			m.facts.Describe(c)),
			"pass a parameter there: "+m.suggest(c))
		return
	}
	m.numberSize(c)
	m.pass(&declfile.GoType{Kind: declfile.GoNumber, Num: n.Number}, field, a.String(), "")
	if n.Size == 4 {
		bits := map[declfile.Class]int{declfile.Signed: 31, declfile.Unsigned: 32}[n.Class]
		m.p.Checks = append(m.p.Checks, fmt.Sprintf("%s <= %d", a, uint64(1)<<bits-1))
	}
}
