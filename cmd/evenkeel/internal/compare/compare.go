package compare

import (
	"slices"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
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
