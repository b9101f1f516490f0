package decl

import "strings"

// GoParams returns a function's parameters as Go writes them.
func GoParams(f *Func) string {
	var b strings.Builder
	for i, p := range f.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.Name)
		if i+1 == len(f.Params) || f.Params[i+1].Typ.String() != p.Typ.String() {
			b.WriteString(" " + p.Typ.String())
		}
	}
	return b.String()
}

// GoResults returns a function's results as Go writes them.
func GoResults(f *Func) string {
	var list []string
	for i, r := range f.Results {
		s := r.Typ.String()
		switch {
		case r.Name != "" && i+1 < len(f.Results) && f.Results[i+1].Typ.String() == s:
			s = r.Name
		case r.Name != "":
			s = r.Name + " " + s
		}
		list = append(list, s)
	}
	if f.HasError {
		s := "error"
		if f.ErrName != "" {
			s = f.ErrName + " error"
		}
		list = append(list, s)
	}
	switch {
	case len(list) == 0:
		return ""
	case len(list) == 1 && !f.Named:
		return " " + list[0]
	}
	return " (" + strings.Join(list, ", ") + ")"
}
