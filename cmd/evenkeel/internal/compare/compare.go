// Package compare puts runs side by side, judges them, and writes text, Markdown or JSON.
package compare

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

type Comparison struct {
	Columns  []Column
	Base     int
	Rows     []Row
	Machines []runfile.Machine
	Tools    []string
	Notes    []string // to read before the table

	figures  []string
	looks    int // Plan.Looks
	verdicts int
	against  []*tailstat.Comparison
	lanes    map[*runfile.Run][]Lane
}

type Row struct {
	Figure
	Cells   []Cell
	Results []*tailstat.Result // of each column's figure with the base's; nil: not judged
}

// Repeats returns the largest number of repeats of a column.
func (c *Comparison) Repeats() int {
	n := 0
	for _, col := range c.Columns {
		n = max(n, len(col.Runs))
	}
	return n
}

// Row returns the row of that name, or nil.
func (c *Comparison) Row(name string) *Row {
	i := slices.IndexFunc(c.Rows, func(r Row) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Rows[i]
}

func (c *Comparison) note(text string) {
	if !slices.Contains(c.Notes, text) {
		c.Notes = append(c.Notes, text)
	}
}

// Column is one variant: the repeats of one label.
type Column struct {
	Label string
	Runs  []*runfile.Run

	file int
}

// whole leaves out interrupted runs, unless each was interrupted.
func (c *Column) whole() []*runfile.Run {
	interrupted := func(r *runfile.Run) bool { return r.Load.Interrupted }
	if whole := slices.DeleteFunc(slices.Clone(c.Runs), interrupted); len(whole) > 0 {
		return whole
	}
	return c.Runs
}

// Median returns the run with the column's median p99.
func (c *Column) Median() *runfile.Run {
	runs := slices.Clone(c.whole())
	slices.SortStableFunc(runs, func(a, b *runfile.Run) int {
		return cmp.Compare(a.Load.Latency.Quantile(.99), b.Load.Latency.Quantile(.99))
	})
	return runs[(len(runs)-1)/2]
}

func loadText(l *loadgen.Result) string { return loopText(l) + shapeText(l) }

func loopText(l *loadgen.Result) string {
	switch {
	case l.Rate > 0:
		return textfmt.Count(l.Rate) + " requests/s (open loop)"
	case l.Connections == 0:
		return "a load of unknown rate and connections"
	case l.Connections == 1:
		return "1 connection (closed loop)"
	}
	return fmt.Sprintf("%d connections (closed loop)", l.Connections)
}

func shapeText(l *loadgen.Result) (t string) {
	switch l.Arrivals {
	case loadgen.ArrivalsPoisson:
		t += ", Poisson arrivals"
	case loadgen.ArrivalsTimes:
		t += ", at the times of a trace"
	}
	if n := len(l.Stages); n > 0 {
		t += fmt.Sprintf(", on average of %d stages", n)
	}
	if l.Protocol == loadgen.ProtocolHTTP2 {
		t += ", over HTTP/2"
		if l.Streams > 1 {
			t += fmt.Sprintf(" with %d streams each", l.Streams)
		}
	}
	return t
}

// Files puts runs side by side, a column for each label. A label that several files share gets the
// file's name.
func Files(files []*runfile.File, names []string) *Comparison {
	c := &Comparison{}
	seen := map[string]int{}
	for _, f := range files {
		for _, l := range labels(f) {
			seen[l]++
		}
	}
	stems := stems(names)
	for i, f := range files {
		if !slices.Contains(c.Machines, f.Machine) {
			c.Machines = append(c.Machines, f.Machine)
		}
		if !slices.Contains(c.Tools, f.Tool) {
			c.Tools = append(c.Tools, f.Tool)
		}
		ls := labels(f)
		first := len(c.Columns)
		for _, l := range ls {
			c.Columns = append(c.Columns, Column{
				Label: c.distinct(columnLabel(l, stems[i], len(ls), seen[l])),
				file:  i,
			})
		}
		for k := range f.Runs {
			r := &f.Runs[k]
			col := &c.Columns[first+slices.Index(ls, r.Label)]
			col.Runs = append(col.Runs, r)
		}
	}
	for _, f := range Figures {
		row := Row{Figure: f}
		known := false
		for i := range c.Columns {
			cell := newCell(f, c.Columns[i].whole())
			known = known || cell.Known
			row.Cells = append(row.Cells, cell)
		}
		if known {
			c.Rows = append(c.Rows, row)
		}
	}
	c.Notes = notes(c.Columns, len(c.Machines))
	if len(files) == 1 {
		c.follow(files[0])
	}
	c.judge()
	return c
}

func (c *Comparison) follow(f *runfile.File) {
	p := f.Plan
	if p == nil {
		return
	}
	c.looks = p.Looks
	if len(p.Figures) > 0 && checkFigures(p.Figures) == nil {
		c.figures = p.Figures
	}
	c.Base = max(slices.IndexFunc(c.Columns, func(col Column) bool { return col.Label == p.Base }), 0)
}

func labels(f *runfile.File) []string {
	var ls []string
	for _, r := range f.Runs {
		if !slices.Contains(ls, r.Label) {
			ls = append(ls, r.Label)
		}
	}
	if f.Plan != nil {
		slices.SortStableFunc(ls, func(a, b string) int {
			return cmp.Compare(slices.Index(f.Plan.Variants, a), slices.Index(f.Plan.Variants, b))
		})
	}
	return ls
}

func columnLabel(label, stem string, inFile, inAll int) string {
	switch {
	case inAll < 2:
		return label
	case inFile < 2:
		return stem
	}
	return stem + ": " + label
}

func stems(names []string) []string {
	ss := make([]string, len(names))
	n := map[string]int{}
	for i, name := range names {
		ss[i] = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
		n[ss[i]]++
	}
	for i := range ss {
		if n[ss[i]] > 1 {
			ss[i] = names[i]
		}
	}
	return ss
}

func (c *Comparison) distinct(label string) string {
	has := func(l string) bool {
		return slices.ContainsFunc(c.Columns, func(col Column) bool { return col.Label == l })
	}
	l := label
	for n := 2; has(l); n++ {
		l = fmt.Sprintf("%s (%d)", label, n)
	}
	return l
}
