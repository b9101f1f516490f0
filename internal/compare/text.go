package compare

import (
	"fmt"
	"io"
	"strings"

	"evenkeel.dev/internal/textfmt"
)

// Text writes the table, and under it the notes and what the ratios mean.
func (c *Comparison) Text(w io.Writer, s textfmt.Style) error {
	t := textfmt.NewTable(len(c.Columns) + 1)
	head := []string{""}
	for _, col := range c.Columns {
		head = append(head, col.Label)
	}
	t.Add(s.Bold, head)
	for i := range c.Rows {
		r := &c.Rows[i]
		cells := []string{r.Name}
		for k, cell := range r.Cells {
			cells = append(cells, c.cellText(r, k, cell))
		}
		t.Add(nil, cells)
	}
	var b strings.Builder
	t.Render(&b)
	foot := c.footnote()
	if foot != "" {
		fmt.Fprintf(&b, "%s\n", s.Dim(foot))
	}
	c.classesText(&b, s)
	c.eventsText(&b, s)
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "! %s\n", textfmt.Printable(n))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *Comparison) cellText(r *Row, column int, cell Cell) string {
	if !cell.Known {
		return "-"
	}
	t := r.Format(cell.Median)
	if x := cell.spread(); x >= .5 {
		t += fmt.Sprintf(" ±%.0f%%", x)
	}
	if x, ok := r.Ratio(column); ok {
		t += " (" + textfmt.Ratio(x) + ")"
	}
	return t
}

func (c *Comparison) footnote() string {
	var f []string
	if n := c.Repeats(); n > 1 {
		f = append(f, fmt.Sprintf("median of %d repeats, ± half their range", n))
	}
	if len(c.Columns) > 1 {
		f = append(f, fmt.Sprintf("(ratio to %q)", c.Columns[0].Label))
	}
	return strings.Join(f, "; ")
}
