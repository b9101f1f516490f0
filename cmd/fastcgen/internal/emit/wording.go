package emit

import (
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/match"
)

// locals are the names of a wrapper's variables.
type locals struct{ frame, slow, code, zero string }

func localsOf(p *match.Plan) locals {
	f := p.Func
	return locals{p.Frame, f.Local("slow", "slowFrame"), f.Local("errno", "code"), f.Local("zero", "none")}
}

func sentence(p *match.Plan) string {
	f := p.Func
	subject := "It"
	if len(f.Doc) == 0 {
		subject = f.Name
	}
	var b strings.Builder
	b.WriteString(subject + " calls the C function " + f.Call.CName)
	switch {
	case f.AlwaysSlow():
		b.WriteString(" by ordinary cgo.")
	case f.Slow != nil:
		b.WriteString(" as a leaf, by ordinary cgo when " + f.Slow.Text + ".")
	default:
		b.WriteString(" as a leaf.")
	}
	if f.Yields != nil {
		b.WriteString(" Other goroutines run first")
		if f.Yields.Text != "" {
			b.WriteString(" when " + f.Yields.Text)
		}
		b.WriteString(".")
	}
	if f.Budget != nil {
		limit := "fastc's default"
		if *f.Budget != 0 {
			limit = f.Budget.String() + " a call"
		}
		b.WriteString(" Its budget is " + limit + ": see [" + f.SiteName() + "].")
	}
	var conditions []string
	for _, c := range f.Requires {
		if strings.Contains(c.Text, "||") && len(f.Requires)+len(p.Checks) > 1 {
			c.Text = "(" + c.Text + ")"
		}
		conditions = append(conditions, c.Text)
	}
	conditions = append(conditions, p.Checks...)
	if len(conditions) > 0 {
		verb := "It panics unless "
		if f.HasError {
			verb = "It returns an error unless "
		}
		b.WriteString(" " + verb + strings.Join(conditions, " and ") + ".")
	}
	switch {
	case looksAtResult(p):
		b.WriteString(" It returns errno as an error when " + f.Fails.Text + ", ret being what C returned.")
	case f.Fails != nil:
		b.WriteString(" It returns errno as an error when " + f.Fails.Text + " after the call.")
	}
	if p.Copied {
		b.WriteString(" The string is a copy of C's, empty for NULL.")
	}
	if len(p.Strings) > 0 {
		b.WriteString(" C gets " + strings.Join(p.Strings, " and ") + " without a zero byte at the end.")
	}
	return b.String()
}

func Wrapped(s string) string {
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
