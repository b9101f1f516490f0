package match

import (
	"debug/dwarf"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
)

// literal passes a literal or a constant of C, and returns what is wrong. C would convert it in
// silence. So literal compares a literal with the type's range, and has C assert (type)(CONSTANT)
// == (CONSTANT).
func (m *matcher) literal(a decl.Arg, c dwarf.Type) string {
	b, _ := m.facts.Bare(c)
	n, isNumber := m.facts.Number(c)
	_, isBool := b.(*dwarf.BoolType)
	_, isPtr := b.(*dwarf.PtrType)
	text, ok := a.Text, true
	switch a.Kind {
	case decl.ArgInt:
		if ok = isNumber && n.Class == decl.Float; ok {
			text, ok = floatText(a.Text, n)
		} else if ok = isNumber && fits(a.Text, n); ok {
			text = intText(a.Text)
		}
	case decl.ArgFloat:
		if ok = isNumber && n.Class == decl.Float; ok {
			text, ok = floatText(a.Text, n)
		}
	case decl.ArgBool:
		ok = isBool
		text = map[string]string{"true": "1", "false": "0"}[text]
	case decl.ArgNil:
		ok = isPtr
		text = "(void *)0"
	case decl.ArgC:
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
	b, _ := m.facts.Bare(c)
	has, _ := m.facts.Bare(m.facts.Consts[name])
	n, isNumber := m.facts.Number(b)
	k, fromNumber := m.facts.Number(has)
	switch {
	case isNumber:
		return fromNumber && (k.Class != decl.Float || n.Class == decl.Float)
	case has == nil:
		return false
	}
	switch b.(type) {
	case *dwarf.BoolType:
		_, isBool := has.(*dwarf.BoolType)
		return isBool || fromNumber && k.Class != decl.Float
	case *dwarf.PtrType:
		switch has.(type) {
		case *dwarf.PtrType, *dwarf.ArrayType:
			return true
		}
	}
	return false
}

func fits(text string, n cc.Number) bool {
	bits := int(n.Size * 8)
	var err error
	switch {
	case n.PlainChar || n.Wide: // signed or not
		_, err = strconv.ParseUint(text, 10, bits-1)
	case n.Class == decl.Unsigned:
		_, err = strconv.ParseUint(text, 10, bits)
	default:
		_, err = strconv.ParseInt(text, 10, bits)
	}
	return err == nil
}

// intText writes an integer of up to 64 bits for C.
func intText(text string) string {
	if text == strconv.FormatInt(math.MinInt64, 10) { // in C a minus and a number, which is too big
		return "(-9223372036854775807 - 1)"
	}
	if _, err := strconv.ParseInt(text, 10, 64); err != nil {
		return text + "ULL"
	}
	return text
}

// floatText writes a number for C's n; ok is false when n has none as big.
func floatText(text string, n cc.Number) (s string, ok bool) {
	s = strings.ReplaceAll(text, "_", "")
	digits, negative := strings.CutPrefix(s, "-")
	if i, isInt := new(big.Int).SetString(digits, 0); isInt {
		s = i.String() + ".0"
		if negative {
			s = "-" + s
		}
	}
	_, err := strconv.ParseFloat(s, int(n.Size*8))
	return s, err == nil
}

func (m *matcher) length(i int, a decl.Arg, c dwarf.Type, field string) {
	g, ok := m.resolve(m.f.Param(a.Text).Typ, 0)
	pointed := ok && g.Kind == decl.GoPointer && g.Elem.Kind == decl.GoArray
	if !ok || g.Kind != decl.GoSlice && g.Kind != decl.GoArray && !pointed &&
		(g.Kind != decl.GoString || a.Kind == decl.ArgCap) {
		do := "write " + a.Text + " in place of " + a.String()
		if ok && g.Kind == decl.GoString {
			do = "write len(" + a.Text + ")"
		}
		m.bad.Add(a.At, fmt.Sprintf("%s, and %s is %s", a, a.Text, g), do)
		return
	}
	if elem := g.Elem; elem != nil && m.asVoid(a.Text) {
		if pointed {
			elem = elem.Elem
		}
		if elem.Kind != decl.GoBool && (elem.Kind != decl.GoNumber || elem.Num.Size != 1) {
			m.bad.Add(a.At, fmt.Sprintf("%s, and %s gets %s, a %s, as a pointer to void: C counts bytes there, Go "+
				"elements", a, m.f.Call.CName, a.Text, g),
				"declare "+a.Text+" []byte")
			return
		}
	}
	n, ok := m.facts.Number(c)
	if !ok || n.Class == decl.Float || n.Enum != nil || n.Size < 4 {
		m.bad.Add(a.At, fmt.Sprintf("%s for argument %d of %s, which is %s", a, i+1, m.f.Call.CName,
			m.facts.Describe(c)),
			"pass a parameter there: "+m.suggest(c))
		return
	}
	m.numberSize(c)
	m.field(n.CName()+" ", field, "C."+n.CName()+"("+a.String()+")")
	if n.Size == 4 {
		bits := map[decl.Class]int{decl.Signed: 31, decl.Unsigned: 32}[n.Class]
		m.p.Checks = append(m.p.Checks, fmt.Sprintf("%s <= %d", a, uint64(1)<<bits-1))
	}
}
