package compare

import (
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

// ClassTable has a row for all requests of a column, and one for each class.
type ClassTable struct {
	Column int
	Pooled string // how its figures differ from the table's, for several repeats
	Rows   []ClassRow
}

// ClassRow is one class in one column.
type ClassRow struct {
	Name  string
	Cells []string // one for each of ClassColumns
}

// ClassColumns are the figures of a class. Bytes are the mean of an answer's body.
var ClassColumns = []string{
	"share", "requests", "failed", "other status", "mean", "p50", "p90", "p99", "p99.9", "max",
	"bytes",
}

const allClasses = "all"

// Classes returns a table for each column with two classes or more.
func (c *Comparison) Classes() (tables []ClassTable) {
	for i := range c.Columns {
		runs := c.Columns[i].whole()
		if rows := classRows(runs); rows != nil {
			pooled := ""
			if len(runs) > 1 {
				pooled = fmt.Sprintf("all requests of %d repeats; the first table has medians of repeats",
					len(runs))
			}
			tables = append(tables, ClassTable{i, pooled, rows})
		}
	}
	return tables
}

func classRows(runs []*runfile.Run) (rows []ClassRow) {
	var classes []loadgen.TargetClass
	all := loadgen.TargetClass{Name: allClasses, Share: 1}
	index := map[string]int{}
	for _, r := range runs {
		for k := range r.Load.Classes {
			from := &r.Load.Classes[k]
			i, ok := index[from.Name]
			if !ok {
				i = len(classes)
				index[from.Name] = i
				classes = append(classes, loadgen.TargetClass{Name: from.Name, Share: from.Share})
			}
			addClass(&classes[i], from)
			addClass(&all, from)
		}
	}
	if len(classes) == 0 {
		return nil
	}
	for _, c := range append([]loadgen.TargetClass{all}, classes...) {
		rows = append(rows, ClassRow{c.Name, classCells(&c, runs)})
	}
	return rows
}

func addClass(to, from *loadgen.TargetClass) {
	to.Answered += from.Answered
	to.Failed += from.Failed
	to.Bytes += from.Bytes
	to.Latency.Merge(&from.Latency)
	for s, n := range from.Statuses {
		if to.Statuses == nil {
			to.Statuses = map[int]int64{}
		}
		to.Statuses[s] += n
	}
}

// classCells writes the figures of a class, and "-" if one of the runs does not have it.
func classCells(c *loadgen.TargetClass, runs []*runfile.Run) []string {
	bad := int64(0)
	for s, n := range c.Statuses {
		if s < 200 || s >= 400 {
			bad += n
		}
	}
	cells := []string{
		textfmt.Percent(c.Share * 100), textfmt.Count(float64(c.Answered + c.Failed)),
		textfmt.Count(float64(c.Failed)), textfmt.Count(float64(bad)),
	}
	add := func(known bool, text string) {
		if !known {
			text = "-"
		}
		cells = append(cells, text)
	}
	all := func(knows func(*runfile.Run) bool) bool {
		return c.Latency.Count() > 0 && !slices.ContainsFunc(runs, func(r *runfile.Run) bool { return !knows(r) })
	}
	add(all((*runfile.Run).KnowsAll), textfmt.Duration(c.Latency.Mean()))
	for _, q := range []float64{.5, .9, .99, .999, 1} {
		add(all(func(r *runfile.Run) bool { return r.Knows(q) }), textfmt.Duration(c.Latency.Quantile(q)))
	}
	add(c.Answered > 0, textfmt.Bytes(float64(c.Bytes)/float64(max(c.Answered, 1))))
	return cells
}

func (c *Comparison) classesText(b *strings.Builder, s textfmt.Style) {
	for _, t := range c.Classes() {
		head := append([]string{"requests of " + c.Columns[t.Column].Label}, ClassColumns...)
		if len(c.Columns) == 1 {
			head[0] = "by class"
		}
		fmt.Fprintln(b)
		table := textfmt.NewTable(len(head))
		table.Add(s.Bold, head)
		for _, r := range t.Rows {
			table.Add(nil, append([]string{textfmt.Visible(r.Name, maxClassName)}, r.Cells...))
		}
		table.Render(b)
		if t.Pooled != "" {
			fmt.Fprintf(b, "%s\n", s.Dim(t.Pooled))
		}
	}
}

const maxClassName = 48
