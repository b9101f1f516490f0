package textfmt

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Style is how text is set. Its zero value is plain.
type Style struct {
	Color bool // ANSI attributes
}

// Bold sets t in bold.
func (s Style) Bold(t string) string { return s.Attr("1", t) }

// Dim sets t faintly.
func (s Style) Dim(t string) string { return s.Attr("2", t) }

// Attr sets t with the ANSI attributes of code, such as "1;31".
func (s Style) Attr(code, t string) string {
	if !s.Color || t == "" {
		return t
	}
	return "\x1b[" + code + "m" + t + "\x1b[0m"
}

// Printable makes text from a file safe for a terminal: no control characters.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// Table sets the first column to the left and the others to the right.
type Table struct {
	widths []int
	rows   []tableRow
}

type tableRow struct {
	cells []string
	style func(string) string
	marks map[int]func(string) string // of single cells
}

// NewTable returns a table of so many columns.
func NewTable(columns int) *Table { return &Table{widths: make([]int, columns)} }

// Add adds a row. style sets the whole line, and may be nil.
func (t *Table) Add(style func(string) string, cells []string) {
	for i := range cells {
		cells[i] = Printable(cells[i])
	}
	for i, c := range cells {
		t.widths[i] = max(t.widths[i], utf8.RuneCountInString(c))
	}
	t.rows = append(t.rows, tableRow{cells: cells, style: style})
}

// Mark sets one cell, from 0, of the last row.
func (t *Table) Mark(cell int, style func(string) string) {
	r := &t.rows[len(t.rows)-1]
	if r.marks == nil {
		r.marks = map[int]func(string) string{}
	}
	r.marks[cell] = style
}

// Render writes each row on a line.
func (t *Table) Render(b *strings.Builder) {
	for _, r := range t.rows {
		var line strings.Builder
		for i, c := range r.cells {
			pad := strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(c))
			if mark := r.marks[i]; mark != nil {
				c = mark(c)
			}
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
