package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Style is how text is set. Its zero value is plain.
type Style struct {
	Color bool // ANSI attributes
}

func (s Style) bold(t string) string { return s.attr("1", t) }
func (s Style) dim(t string) string  { return s.attr("2", t) }

func (s Style) attr(code, t string) string {
	if !s.Color || t == "" {
		return t
	}
	return "\x1b[" + code + "m" + t + "\x1b[0m"
}

// Text writes the table, and under it the notes and what the ratios mean.
func (c *Comparison) Text(w io.Writer, s Style) error {
	t := newTable(len(c.Columns) + 1)
	head := []string{""}
	for _, col := range c.Columns {
		head = append(head, col.Label)
	}
	t.add(s.bold, head)
	for i := range c.Rows {
		r := &c.Rows[i]
		cells := []string{r.Name}
		for k, cell := range r.Cells {
			cells = append(cells, c.cellText(r, k, cell))
		}
		t.add(nil, cells)
	}
	var b strings.Builder
	t.write(&b)
	foot := c.footnote()
	if foot != "" {
		fmt.Fprintf(&b, "%s\n", s.dim(foot))
	}
	c.eventsText(&b, s)
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "! %s\n", printable(n))
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
		t += " (" + FormatRatio(x) + ")"
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

// Text writes where a run allocated most.
func (a *Alloc) Text(w io.Writer, s Style) error {
	var b strings.Builder
	section := func(title string, sites []Site, bytes func(Site) int64, name func(Site) string) {
		if len(sites) == 0 {
			return
		}
		fmt.Fprintf(&b, "%s\n", s.dim(title))
		t := newTable(3)
		for _, x := range sites {
			n := float64(bytes(x))
			t.add(nil, []string{"  " + name(x), FormatBytes(n), FormatPercent(n / float64(max(a.Sampled, 1)) * 100)})
		}
		t.write(&b)
	}
	flat, cum := func(x Site) int64 { return x.Flat }, func(x Site) int64 { return x.Cum }
	function := func(x Site) string { return x.Name }
	section("functions that allocate, flat", a.Flat, flat, function)
	section("with all they call, outside the standard library", a.Cumulative, cum, function)
	section("lines, the innermost outside the standard library", a.Lines, flat,
		func(x Site) string { return fmt.Sprintf("%s:%d %s", x.File, x.Line, x.Name) })
	_, err := io.WriteString(w, b.String())
	return err
}

// printable makes text from a file safe for a terminal: no control characters.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// table sets cells in columns: the first to the left, the others to the right.
type table struct {
	widths []int
	rows   []tableRow
}

type tableRow struct {
	cells []string
	style func(string) string
}

func newTable(columns int) *table { return &table{widths: make([]int, columns)} }

func (t *table) add(style func(string) string, cells []string) {
	for i := range cells {
		cells[i] = printable(cells[i])
	}
	for i, c := range cells {
		t.widths[i] = max(t.widths[i], utf8.RuneCountInString(c))
	}
	t.rows = append(t.rows, tableRow{cells, style})
}

func (t *table) write(b *strings.Builder) {
	for _, r := range t.rows {
		var line strings.Builder
		for i, c := range r.cells {
			pad := strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(c))
			switch {
			case i == 0:
				line.WriteString(c + pad)
			default:
				line.WriteString("  " + pad + c)
			}
		}
		text := strings.TrimRight(line.String(), " ")
		if r.style != nil {
			text = r.style(text)
		}
		b.WriteString(text + "\n")
	}
}
