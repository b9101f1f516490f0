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
