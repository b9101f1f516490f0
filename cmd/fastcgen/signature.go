package main

import (
	"strings"
)

// goParams returns a function's parameters as Go writes them.
func goParams(f *funcDecl) string {
	var b strings.Builder
	for i, p := range f.params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.name)
		if i+1 == len(f.params) || f.params[i+1].typ != p.typ {
			b.WriteString(" " + p.typ.String())
		}
	}
	return b.String()
}

// goResults returns a function's results as Go writes them.
func goResults(f *funcDecl) string {
	var list []string
	for i, r := range f.results {
		s := r.typ.String()
		switch {
		case r.name != "" && i+1 < len(f.results) && f.results[i+1].typ == r.typ:
			s = r.name
		case r.name != "":
			s = r.name + " " + s
		}
		list = append(list, s)
	}
	if f.hasError {
		s := "error"
		if f.errName != "" {
			s = f.errName + " error"
		}
		list = append(list, s)
	}
	switch {
	case len(list) == 0:
		return ""
	case len(list) == 1 && !f.named:
		return " " + list[0]
	}
	return " (" + strings.Join(list, ", ") + ")"
}
