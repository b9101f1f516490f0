package compare

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
)

// Files puts the runs of files side by side, a column for each label, and judges them against the
// first. A label that several files share gets the file's name.
func Files(files []*runfile.File, names []string) *Comparison {
	c := &Comparison{}
	seen := map[string]int{} // label -> number of files
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
		c.plans, c.floors = append(c.plans, f.Plan), append(c.floors, f.Floor)
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
	c.follow()
	c.judge()
	return c
}

func (c *Comparison) follow() {
	if len(c.plans) != 1 || c.plans[0] == nil {
		return
	}
	p := c.plans[0]
	if len(p.Figures) > 0 && CheckFigures(p.Figures) == nil {
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
	if f.Plan != nil { // runs are in random order
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

// stems returns the names without folder and extension if they then differ.
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
