// Package compare puts runs side by side, judges them, and writes text, Markdown or JSON. Package
// page draws the same [Comparison].
package compare

import (
	"cmp"
	"fmt"
	"slices"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

// Comparison is variants side by side.
type Comparison struct {
	Columns  []Column
	Base     int // column that ratios refer to
	Rows     []Row
	Machines []runfile.Machine // distinct
	Tools    []string          // what measured them, distinct
	Notes    []string          // what a reader must know before using the table

	plans    []*runfile.Plan
	floors   []*runfile.Floor
	figures  []string
	verdicts int // over all columns
	against  []*tailstat.Comparison
	lanes    map[*runfile.Run][]Lane
}

// Row is one figure of all columns.
type Row struct {
	Figure
	Cells []Cell

	floor       *tailstat.Result // of one variant against itself; nil: not measured
	floorRounds int              // that floorLeast is for
	floorLeast  float64          // ratio; 0: these rounds show nothing

	results []*tailstat.Result // of each column; nil: not judged
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

// note adds a note once. Each judgement finds the same ones again.
func (c *Comparison) note(text string) {
	if !slices.Contains(c.Notes, text) {
		c.Notes = append(c.Notes, text)
	}
}

// Column is one variant: the repeats of one label.
type Column struct {
	Label string
	Runs  []*runfile.Run

	file int // rounds are those of a file
}

// whole returns the runs that were not interrupted, or all if each was.
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

// LoadText says how a load was put on, in a few words.
func LoadText(l *loadgen.Result) string { return loopText(l) + shapeText(l) }

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
