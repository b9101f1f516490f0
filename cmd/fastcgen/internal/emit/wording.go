package emit

import (
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/match"
)

// sentence says in a wrapper's documentation what its callers have to know.
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
	if conditions := requirements(p); len(conditions) > 0 {
		verb := "It panics unless "
		if f.HasError {
			verb = "It returns an error unless "
		}
		b.WriteString(" " + verb + strings.Join(conditions, ", and ") + ".")
	}
	if f.Fails != nil {
		b.WriteString(" It returns errno as an error when C has " + f.Fails.Text + ".")
	}
	return b.String()
}

// requirements are the conditions of Go under which C is called.
func requirements(p *match.Plan) []string {
	var list []string
	for _, c := range p.Func.Requires {
		list = append(list, c.Text)
	}
	return append(list, p.Checks...)
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
