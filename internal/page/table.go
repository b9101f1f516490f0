package page

import (
	"strings"

	"evenkeel.dev/internal/compare"
	"evenkeel.dev/internal/textfmt"
)

// pageTable is the table of Text in HTML.
type pageTable struct {
	Rows     []pageRow
	Footnote []string
}

type pageRow struct {
	Name, Note string
	Cells      []pageCell
}

// pageCell is a figure of one variant.
type pageCell struct {
	Value string // "" where it is not known
	Range string // of the repeats, "" where they agree
	Ratio string // to the first column

	Compared bool // has room for a ratio
}

func tableOf(c *compare.Comparison) pageTable {
	t := pageTable{Rows: make([]pageRow, len(c.Rows))}
	for i := range c.Rows {
		r := &c.Rows[i]
		t.Rows[i] = pageRow{Name: r.Name, Note: r.Note}
		for k, cell := range r.Cells {
			t.Rows[i].Cells = append(t.Rows[i].Cells, newPageCell(r, k, cell))
		}
	}
	if c.Repeats() > 1 {
		t.Footnote = append(t.Footnote, "median of the repeats, in brackets the least and the greatest")
	}
	if len(c.Columns) > 1 {
		t.Footnote = append(t.Footnote, "ratios are to "+c.Columns[0].Label)
	}
	return t
}

func newPageCell(r *compare.Row, column int, cell compare.Cell) pageCell {
	p := pageCell{Compared: column > 0}
	if !cell.Known {
		return p
	}
	p.Value = r.Format(cell.Median)
	p.Range = rangeText(r.Format(cell.Min), r.Format(cell.Max))
	if x, ok := r.Ratio(column); ok {
		p.Ratio = textfmt.Ratio(x)
	}
	return p
}

// rangeText writes a range, with the unit once where both ends have the same.
func rangeText(lo, hi string) string {
	if lo == hi {
		return ""
	}
	if number, unit, _ := strings.Cut(lo, " "); unit != "" && strings.HasSuffix(hi, " "+unit) {
		lo = number
	}
	return "[" + lo + "–" + hi + "]"
}
