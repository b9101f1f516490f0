package main

import (
	"debug/dwarf"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// literal passes a literal or a constant of C. It returns what is wrong.
func (m *matcher) literal(a callArg, c dwarf.Type) string {
	b, _ := m.facts.bare(c)
	n, isNumber := m.facts.number(c)
	_, isBool := b.(*dwarf.BoolType)
	_, isPtr := b.(*dwarf.PtrType)
	text, ok := a.text, true
	switch a.kind {
	case argInt:
		if ok = isNumber && n.class == float; ok {
			text, ok = floatText(a.text, n)
		} else if ok = isNumber && fits(a.text, n); ok {
			text = intText(a.text)
		}
	case argFloat:
		if ok = isNumber && n.class == float; ok {
			text, ok = floatText(a.text, n)
		}
	case argBool:
		ok = isBool
		text = map[string]string{"true": "1", "false": "0"}[text]
	case argNil:
		ok = isPtr
		text = "(void *)0"
	case argC:
		ok = m.constantFits(a.text, c)
		if t := cText(unqualified(c), ""); ok && isNumber && !anonymous(c) {
			m.p.fits = append(m.p.fits, fmt.Sprintf("_Static_assert(__builtin_choose_expr(__builtin_constant_p(%s), (%s)(%s) == (%s), 1), %q);",
				a.text, t, a.text, a.text, a.text+" does not fit "+t))
		}
	}
	m.p.args = append(m.p.args, text)
	if !ok {
		return a.String()
	}
	return ""
}

// constantFits reports whether C's constant can be passed for c as it is.
func (m *matcher) constantFits(name string, c dwarf.Type) bool {
	b, _ := m.facts.bare(c)
	has, _ := m.facts.bare(m.facts.consts[name])
	n, isNumber := m.facts.number(b)
	k, fromNumber := m.facts.number(has)
	switch {
	case isNumber:
		return fromNumber && (k.class != float || n.class == float)
	case has == nil:
		return false
	}
	switch b.(type) {
	case *dwarf.BoolType:
		_, isBool := has.(*dwarf.BoolType)
		return isBool || fromNumber && k.class != float
	case *dwarf.PtrType:
		switch has.(type) {
		case *dwarf.PtrType, *dwarf.ArrayType:
			return true
		}
	}
	return false
}

// fits reports whether an integer literal is a value of n.
func fits(text string, n cNumber) bool {
	bits := int(n.size * 8)
	if n.plainChar {
		bits = 7
		_, err := strconv.ParseUint(text, 10, bits)
		return err == nil
	}
	if n.class == unsigned {
		_, err := strconv.ParseUint(text, 10, bits)
		return err == nil
	}
	_, err := strconv.ParseInt(text, 10, bits)
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
func floatText(text string, n cNumber) (s string, ok bool) {
	s = strings.ReplaceAll(text, "_", "")
	digits, negative := strings.CutPrefix(s, "-")
	if i, isInt := new(big.Int).SetString(digits, 0); isInt {
		s = i.String() + ".0"
		if negative {
			s = "-" + s
		}
	}
	_, err := strconv.ParseFloat(s, int(n.size*8))
	return s, err == nil
}

// length passes len(x) or cap(x).
func (m *matcher) length(i int, a callArg, c dwarf.Type, field string) {
	g, ok := m.resolve(m.f.param(a.text).typ, 0)
	pointed := ok && g.kind == goPointer && g.elem.kind == goArray
	if !ok || g.kind != goSlice && g.kind != goArray && !pointed && (g.kind != goString || a.kind == argCap) {
		do := "write " + a.text + " in place of " + a.String()
		if ok && g.kind == goString {
			do = "write len(" + a.text + ")"
		}
		m.bad.add(a.at, fmt.Sprintf("%s, and %s is %s", a, a.text, g), do)
		return
	}
	if elem := g.elem; elem != nil && m.asVoid(a.text) {
		if pointed {
			elem = elem.elem
		}
		if elem.kind != goBool && (elem.kind != goNumber || elem.num.size != 1) {
			m.bad.add(a.at, fmt.Sprintf("%s, and %s gets %s, a %s, as a pointer to void: C counts bytes there, Go elements", a, m.f.call.cName, a.text, g),
				"declare "+a.text+" []byte")
			return
		}
	}
	n, ok := m.facts.number(c)
	if !ok || n.class == float || n.enum != nil || n.size < 4 {
		m.bad.add(a.at, fmt.Sprintf("%s for argument %d of %s, which is %s", a, i+1, m.f.call.cName, m.facts.describe(c)),
			"pass a parameter there: "+m.suggest(c))
		return
	}
	m.numberSize(c)
	m.field(n.cName()+" ", field, "C."+n.cName()+"("+a.String()+")")
	if n.size == 4 {
		bits := map[class]int{signed: 31, unsigned: 32}[n.class]
		m.p.checks = append(m.p.checks, fmt.Sprintf("%s <= %d", a, uint64(1)<<bits-1))
	}
}
