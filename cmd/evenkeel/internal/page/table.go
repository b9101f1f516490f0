package page

import (
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/tailstat"
)

type pageTable struct {
	Rows     []pageRow
	HasFloor bool
	Footnote []string
}

type pageRow struct {
	Name, Note string
	Floor      string // the smallest change that this machine shows, or ""
	Cells      []pageCell
}

type pageCell struct {
	Value string // "" if not known
	Range string // of the repeats, "" if they agree
	Ratio string

	Bounds  string // of the ratio
	Verdict string // faster, slower or ""
}

func tableOf(c *compare.Comparison) pageTable {
	t := pageTable{Rows: make([]pageRow, len(c.Rows))}
	for i := range c.Rows {
		r := &c.Rows[i]
		t.Rows[i] = pageRow{Name: r.Name, Note: r.Note, Floor: r.FloorText()}
		for k := range r.Cells {
			t.Rows[i].Cells = append(t.Rows[i].Cells, newPageCell(r, k))
		}
	}
	t.HasFloor, t.Footnote = c.HasFloor(), c.Footnotes()
	if c.Repeats() > 1 {
		t.Footnote[0] += "; below it the least and the greatest"
	}
	return t
}

func newPageCell(row *compare.Row, column int) pageCell {
	cell := row.Cells[column]
	var p pageCell
	if !cell.Known {
		return p
	}
	p.Value = row.Format(cell.Median)
	p.Range = rangeText(row.Format(cell.Min), row.Format(cell.Max))
	r := row.Result(column)
	p.Ratio, p.Bounds = compare.Ratio(r), compare.Bounds(r)
	if v := row.Shown(column); v != tailstat.VerdictInconclusive {
		p.Verdict = v.String()
	}
	return p
}

// rangeText writes a range, with a common unit once.
func rangeText(lo, hi string) string {
	if lo == hi {
		return ""
	}
	if number, unit, _ := strings.Cut(lo, " "); unit != "" && strings.HasSuffix(hi, " "+unit) {
		lo = number
	}
	return lo + "–" + hi
}

type pageClasses struct {
	pageVariant
	compare.ClassTable
	Columns []string
}

func classesOf(c *compare.Comparison) (tables []pageClasses) {
	variants := pageVariants(c)
	for _, t := range c.Classes() {
		tables = append(tables, pageClasses{variants[t.Column], t, compare.ClassColumns})
	}
	return tables
}
