package main

import (
	"slices"
	"strings"
)

// locals are the names of a wrapper's variables, none of them a parameter's or a result's.
type locals struct{ frame, code, zero string }

func localsOf(f *funcDecl) locals {
	free := func(names ...string) string {
		for _, n := range names {
			if !f.nameTaken(n) && !mentioned(f, n) && !converts(f, n) {
				return n
			}
		}
		return names[len(names)-1] + "OfFastc"
	}
	return locals{free("f", "frame"), free("errno", "code"), free("zero", "none")}
}

// mentioned reports whether a condition of f may refer to a name.
func mentioned(f *funcDecl, name string) bool {
	has := func(c condition) bool {
		for _, w := range strings.FieldsFunc(c.text, func(r rune) bool {
			return !(r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80)
		}) {
			if w == name {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(f.conditions(), has)
}

// converts reports whether a result's type has that name.
func converts(f *funcDecl, name string) bool {
	return slices.ContainsFunc(f.results, func(r param) bool { return r.typ.base() == name })
}

// rename puts the frame's name in place of f in an expression of a plan.
func (v locals) rename(s string) string {
	if v.frame == "f" {
		return s
	}
	if rest, ok := strings.CutPrefix(s, "f."); ok {
		s = v.frame + "." + rest
	}
	return strings.NewReplacer("(f.", "("+v.frame+".", "&f.", "&"+v.frame+".").Replace(s)
}

// sentence says in the wrapper's comment what runs, and how.
func sentence(p *plan) string {
	f := p.fn
	subject := "It"
	if len(f.doc) == 0 {
		subject = f.name
	}
	var b strings.Builder
	b.WriteString(subject + " calls the C function " + f.call.cName)
	switch {
	case f.alwaysSlow():
		b.WriteString(" by ordinary cgo.")
	case f.slow != nil:
		b.WriteString(" as a leaf, by ordinary cgo when " + f.slow.text + ".")
	default:
		b.WriteString(" as a leaf.")
	}
	if f.yields != nil {
		b.WriteString(" Other goroutines run first")
		if f.yields.text != "" {
			b.WriteString(" when " + f.yields.text)
		}
		b.WriteString(".")
	}
	if f.budget != nil {
		limit := "fastc's default"
		if f.budget.limit != 0 {
			limit = f.budget.limit.String() + " a call"
		}
		b.WriteString(" Its budget is " + limit + ": see [" + f.siteName() + "].")
	}
	var conditions []string
	for _, c := range f.requires {
		if strings.Contains(c.text, "||") && len(f.requires)+len(p.checks) > 1 {
			c.text = "(" + c.text + ")"
		}
		conditions = append(conditions, c.text)
	}
	conditions = append(conditions, p.checks...)
	if len(conditions) > 0 {
		verb := "It panics unless "
		if f.hasError {
			verb = "It returns an error unless "
		}
		b.WriteString(" " + verb + strings.Join(conditions, " and ") + ".")
	}
	switch {
	case looksAtResult(p):
		b.WriteString(" It returns errno as an error when " + f.fails.text + ", ret being what C returned.")
	case f.fails != nil:
		b.WriteString(" It returns errno as an error when " + f.fails.text + " after the call.")
	}
	if p.copied {
		b.WriteString(" The string is a copy of C's, empty for NULL.")
	}
	if len(p.strings) > 0 {
		b.WriteString(" C gets " + strings.Join(p.strings, " and ") + " without a zero byte at the end.")
	}
	return b.String()
}

// wrapped breaks a sentence into comment lines.
func wrapped(s string) string {
	const width = 100
	var b strings.Builder
	line := "//"
	for w := range strings.FieldsSeq(s) {
		if len(line)+1+len(w) > width && line != "//" {
			b.WriteString(line + "\n")
			line = "//"
		}
		line += " " + w
	}
	return b.String() + line + "\n"
}
