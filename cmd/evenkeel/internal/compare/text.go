package compare

import (
	"fmt"
	"io"
	"strings"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/tailstat"
)

// Text writes the table, with footnotes and notes below it.
func (c *Comparison) Text(w io.Writer, s textfmt.Style) error {
	head := []string{""}
	for k, col := range c.Columns {
		head = append(head, col.Label)
		if c.against[k] != nil {
			head = append(head, "", "") // ratio and interval
		}
	}
	if c.HasFloor() {
		head = append(head, "floor")
	}
	t := textfmt.NewTable(len(head))
	t.Add(s.Bold, head)
	for i := range c.Rows {
		r := &c.Rows[i]
		cells, marks := []string{r.Name}, map[int]func(string) string{}
		for k := range r.Cells {
			cells = append(cells, r.valueText(k))
			if c.against[k] != nil {
				marks[len(cells)], marks[len(cells)+1] = r.style(s, k), s.Dim
				cells = append(cells, Ratio(r.results[k]), Bounds(r.results[k]))
			}
		}
		if c.HasFloor() {
			cells = append(cells, r.FloorText())
		}
		t.Add(nil, cells)
		for i, m := range marks {
			t.Mark(i, m)
		}
	}
	var b strings.Builder
	t.Render(&b)
	for _, f := range c.Footnotes() {
		fmt.Fprintf(&b, "%s\n", s.Dim(textfmt.Printable(f)))
	}
	c.classesText(&b, s)
	c.eventsText(&b, s)
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "! %s\n", textfmt.Printable(n))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// style is green for better, red for worse, and dim for what is uncertain or below the floor.
func (r *Row) style(s textfmt.Style, column int) func(string) string {
	code := "2"
	switch r.Shown(column) {
	case tailstat.VerdictFaster:
		code = "32"
	case tailstat.VerdictSlower:
		code = "31"
	}
	return func(t string) string { return s.Attr(code, t) }
}

// shownAlways are rows that Markdown shows without a verdict. A fast answer may be a failure.
var shownAlways = map[string]bool{"requests": true, "failed": true, "not 2xx or 3xx": true}

// Markdown writes the comparison for a pull request, after lines. It has a table for each column
// next to the base, or all rows if no figure is judged.
func (c *Comparison) Markdown(w io.Writer, lines []string) error {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "- %s\n", markdown(l))
	}
	if len(lines) > 0 {
		b.WriteByte('\n')
	}
	if !c.Judged() {
		c.markdownMedians(&b)
	}
	for k, against := range c.against {
		if against != nil {
			c.markdownTable(&b, k)
		}
	}
	for _, f := range c.Footnotes() {
		fmt.Fprintf(&b, "%s  \n", markdown(f))
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "\n> **Note** %s\n", markdown(n))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *Comparison) markdownTable(b *strings.Builder, column int) {
	base := c.Columns[c.Base].Label
	fmt.Fprintf(b, "| | %s | %s | ratio | lies within | |\n|---|--:|--:|--:|--:|---|\n", markdown(base),
		markdown(c.Columns[column].Label))
	for i := range c.Rows {
		r := &c.Rows[i]
		x := r.results[column]
		if x == nil && !shownAlways[r.Name] {
			continue
		}
		verdict := ""
		if v := r.Shown(column); v != tailstat.VerdictInconclusive {
			verdict = "**" + v.String() + "**"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", markdown(r.Name), r.valueText(c.Base), r.valueText(column),
			markdown(Ratio(x)), markdown(strings.Trim(Bounds(x), "[]")), verdict)
	}
	b.WriteByte('\n')
}

func (c *Comparison) markdownMedians(b *strings.Builder) {
	b.WriteString("| |")
	for _, col := range c.Columns {
		fmt.Fprintf(b, " %s |", markdown(col.Label))
	}
	fmt.Fprintf(b, "\n|---|%s\n", strings.Repeat("--:|", len(c.Columns)))
	for i := range c.Rows {
		r := &c.Rows[i]
		fmt.Fprintf(b, "| %s |", markdown(r.Name))
		for k := range c.Columns {
			fmt.Fprintf(b, " %s |", r.valueText(k))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

func (r *Row) valueText(column int) string {
	if cell := r.Cells[column]; cell.Known {
		return r.Format(cell.Median)
	}
	return "-"
}

// markdown escapes text on one line. A label comes from whoever wrote the run file.
func markdown(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case strings.ContainsRune("\\`*_[]|~#", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		case strings.ContainsRune("<>&@", r):
			fmt.Fprintf(&b, "&#%d;", r)
		case r < ' ' || r == 0x7f:
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
