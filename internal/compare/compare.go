package compare

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

// Comparison is variants side by side. The first column is what ratios refer to.
type Comparison struct {
	Columns  []Column
	Rows     []Row
	Machines []runfile.Machine // distinct
	Tools    []string          // what measured them, distinct
	Notes    []string          // what a reader must know before believing the table

	lanes map[*runfile.Run][]Lane // where SetEvents placed events
}

// Column is one variant: the repeats of one label.
type Column struct {
	Label string
	Runs  []*runfile.Run
}

// Row is one figure over all columns.
type Row struct {
	Figure
	Cells []Cell
}

// Ratio returns a cell's median over the first column's.
func (r *Row) Ratio(column int) (float64, bool) {
	base, c := r.Cells[0], r.Cells[column]
	if column == 0 || !base.Known || !c.Known || base.Median == 0 {
		return 0, false
	}
	return c.Median / base.Median, true
}

// Repeats returns the largest number of repeats of a column.
func (c *Comparison) Repeats() int {
	n := 0
	for _, col := range c.Columns {
		n = max(n, len(col.Runs))
	}
	return n
}

// Median returns the run whose p99 is the column's median, the earlier of two: the one to
// draw on a time line.
func (c *Column) Median() *runfile.Run {
	runs := slices.Clone(c.Runs)
	slices.SortStableFunc(runs, func(a, b *runfile.Run) int {
		return cmp.Compare(a.Load.Latency.Quantile(.99), b.Load.Latency.Quantile(.99))
	})
	return runs[(len(runs)-1)/2]
}

// Files puts the runs of files side by side, a column a label. names are the files' names;
// labels that several files share are told apart by them.
func Files(files []*runfile.File, names []string) *Comparison {
	c := &Comparison{}
	seen := map[string]int{} // label -> number of files that have it
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
			c.Columns = append(c.Columns, Column{Label: c.distinct(columnLabel(l, stems[i], len(ls), seen[l]))})
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
		for _, col := range c.Columns {
			cell := newCell(f, col.Runs)
			known = known || cell.Known
			row.Cells = append(row.Cells, cell)
		}
		if known {
			c.Rows = append(c.Rows, row)
		}
	}
	c.Notes = c.notes()
	return c
}

func labels(f *runfile.File) []string {
	var ls []string
	for _, r := range f.Runs {
		if !slices.Contains(ls, r.Label) {
			ls = append(ls, r.Label)
		}
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

// stems returns the files' names without folder and extension, or with both where that does
// not tell them apart.
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

// distinct numbers a label that a column has already.
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

// notes says where columns are not alike, and passes on what the runs have to say.
func (c *Comparison) notes() []string {
	var ns []string
	add := func(format string, a ...any) {
		if n := fmt.Sprintf(format, a...); !slices.Contains(ns, n) {
			ns = append(ns, n)
		}
	}
	if len(c.Machines) > 1 {
		add("measured on %d different machines: ratios between them say little", len(c.Machines))
	}
	for _, col := range c.Columns {
		for _, r := range col.Runs {
			who := col.Label
			if len(col.Runs) > 1 {
				who = fmt.Sprintf("%s: repeat %d", col.Label, r.Repeat)
			}
			if r.Load.Interrupted {
				cut := ""
				if n := r.Load.Unfinished; n > 0 {
					cut = fmt.Sprintf("; %s requests were still unanswered then, after up to %s, and are in no figure",
						textfmt.Count(float64(n)), textfmt.Duration(r.Load.UnfinishedMax))
				}
				add("%s: repeat %d was interrupted%s", col.Label, r.Repeat, cut)
			}
			for _, f := range r.Load.Failures {
				add("%s: %s failed (%s), for instance: %s", who, textfmt.Count(float64(f.Count)), f.Class, f.Example)
			}
			if l := r.Load; l.Rate > 0 && float64(l.Late) > .01*float64(l.Requests()) {
				add("%s: %s of %s requests were sent more than 1 ms late; latency counts from the time they were due",
					who, textfmt.Count(float64(l.Late)), textfmt.Count(float64(l.Requests())))
			}
			if d := r.Load.Duration; d < time.Second && r.Load.Answered > 0 {
				add("%s: %s is too short to say much; give -n or -z more", col.Label, textfmt.Duration(d))
			}
			if s, n := worstStatus(r.Load); float64(n) > .5*float64(r.Load.Answered) {
				add("%s: %s of %s answers had status %d: is the URL, the method or the scheme (http, https) right?",
					who, textfmt.Count(float64(n)), textfmt.Count(float64(r.Load.Answered)), s)
			}
			for _, n := range r.Notes {
				switch {
				case c.allSay(n):
					add("%s", n)
				case col.allSay(n):
					add("%s: %s", col.Label, n)
				default:
					add("%s: %s", who, n)
				}
			}
		}
	}
	base := c.Columns[0].Runs[0].Load
	for _, col := range c.Columns[1:] {
		l := col.Runs[0].Load
		if l.Rate != base.Rate || l.Rate == 0 && l.Connections != base.Connections {
			add("%s and %s had different loads: %s against %s", c.Columns[0].Label, col.Label, LoadText(base.Rate, base.Connections), LoadText(l.Rate, l.Connections))
		}
	}
	return ns
}

// allSay reports whether every run of every column has this note.
func (c *Comparison) allSay(note string) bool {
	return len(c.Columns) > 1 && !slices.ContainsFunc(c.Columns, func(col Column) bool { return !col.allSay(note) })
}

func (c *Column) allSay(note string) bool {
	return !slices.ContainsFunc(c.Runs, func(r *runfile.Run) bool { return !slices.Contains(r.Notes, note) })
}

func LoadText(rate float64, connections int) string {
	if rate > 0 {
		return textfmt.Count(rate) + " requests/s (open loop)"
	}
	if connections == 1 {
		return "1 connection (closed loop)"
	}
	return fmt.Sprintf("%d connections (closed loop)", connections)
}

// spread is half the range over the median, in percent.
func (c Cell) spread() float64 {
	if c.Median == 0 {
		return 0
	}
	return math.Abs((c.Max - c.Min) / 2 / c.Median * 100)
}

// worstStatus returns the most frequent status that is not 2xx or 3xx, the lowest of several,
// and its count.
func worstStatus(l *loadgen.Result) (status int, count int64) {
	for s, n := range l.Statuses {
		if (s < 200 || s >= 400) && (n > count || n == count && s < status) {
			status, count = s, n
		}
	}
	return status, count
}
