// Package textfmt writes figures with a unit, and tables for a terminal.
package textfmt

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

func Bytes(b float64) string { return inUnit(b, 1024, "B", "KiB", "MiB", "GiB", "TiB") }

// Duration writes three digits in a unit that fits.
func Duration(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return inUnit(float64(d), 1000, "ns", "µs", "ms", "s")
}

func inUnit(x, step float64, units ...string) string {
	for len(units) > 1 && math.Abs(x) >= 999.5 {
		x, units = x/step, units[1:]
	}
	return digits(x) + " " + units[0]
}

// Count separates thousands, and writes a small number with decimals.
func Count(x float64) string {
	if math.Abs(x) < 99.5 && x != math.Trunc(x) {
		return digits(x)
	}
	s := strconv.FormatFloat(math.Round(x)+0, 'f', 0, 64) // + 0 avoids -0
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Percent writes one decimal, or more if it is small.
func Percent(p float64) string {
	if p != 0 && math.Abs(p) < .95 {
		return strconv.FormatFloat(p, 'g', 2, 64) + "%"
	}
	return strconv.FormatFloat(p, 'f', 1, 64) + "%"
}

func Ratio(r float64) string {
	if r >= 99.5 {
		return fmt.Sprintf("%.0fx", r)
	}
	if r >= 9.95 {
		return fmt.Sprintf("%.1fx", r)
	}
	if r > 0 && r < .00995 {
		return strconv.FormatFloat(r, 'g', 2, 64) + "x"
	}
	return fmt.Sprintf("%.2fx", r)
}

// Share writes percent without decimals.
func Share(share float64) string {
	if share > 0 && share < .005 {
		return "<1%"
	}
	return fmt.Sprintf("%.0f%%", share*100)
}

// Bar returns a share, and a bar of twenty blocks or spaces. Without a share there is no text.
func Bar(share float64) (text, bar string) {
	const width = 20
	n := 0
	if share > 0 {
		text, n = Share(share), int(math.Round(share*width))
	}
	return text, strings.Repeat("█", n) + strings.Repeat(" ", width-n)
}

// Plural writes "2,000 requests", say.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Count(float64(n)) + " " + what + "s"
}

func SignedDuration(d time.Duration) string {
	if d > 0 {
		return "+" + Duration(d)
	}
	return Duration(d)
}

// Visible is Printable for at most so many runes.
func Visible(s string, most int) string {
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most-1]) + "…"
	}
	return Printable(s)
}

// digits writes three significant digits, or all of the whole part.
func digits(x float64) string {
	switch a := math.Abs(x); {
	case a >= 99.95 || x == math.Trunc(x):
		return strconv.FormatFloat(x, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case a >= .9995:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

type Style struct {
	Color bool
}

func (s Style) Bold(t string) string { return s.Attr("1", t) }

func (s Style) Dim(t string) string { return s.Attr("2", t) }

// Attr takes ANSI attributes such as "1;31".
func (s Style) Attr(code, t string) string {
	if !s.Color || t == "" {
		return t
	}
	return "\x1b[" + code + "m" + t + "\x1b[0m"
}

// Wrap writes sentences in lines of a width, in runes. Lines after the first are indented as far as
// first is long. Style may be nil.
func Wrap(out *strings.Builder, width int, first, sentences string, style func(string) string) {
	if style == nil {
		style = func(s string) string { return s }
	}
	line, indent := first, strings.Repeat(" ", utf8.RuneCountInString(first))
	empty := true
	for word := range strings.FieldsSeq(Printable(sentences)) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			out.WriteString(style(line) + "\n")
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	out.WriteString(style(line) + "\n")
}

// Printable replaces what does not print.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// Table aligns the first column to the left and the others to the right.
type Table struct {
	widths []int
	rows   []tableRow
}

type tableRow struct {
	cells []string
	style func(string) string
	marks map[int]func(string) string
}

func NewTable(columns int) *Table { return &Table{widths: make([]int, columns)} }

// Add adds a row. style sets the whole line, and may be nil.
func (t *Table) Add(style func(string) string, cells []string) {
	for i, c := range cells {
		cells[i] = Printable(c)
		t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cells[i]))
	}
	t.rows = append(t.rows, tableRow{cells: cells, style: style})
}

// Row adds a row without a style.
func (t *Table) Row(cells ...string) { t.Add(nil, cells) }

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
			if i == 0 {
				line.WriteString(c + pad)
			} else {
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
