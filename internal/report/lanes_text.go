package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxTallies is how many lines a variant gets under the table.
const maxTallies = 40

// tally sums up one state of one source within the windows of a variant's runs.
type tally struct {
	source, state  string
	count          int
	total, longest time.Duration
}

// tallies sums up the events of runs: by source, each source's states by the time they took.
func (c *Comparison) tallies(runs []*Run) []tally {
	var ts []tally
	type key struct{ source, state string }
	at := map[key]int{}
	for _, r := range runs {
		for _, l := range c.lanes[r] {
			for _, s := range l.spans {
				k := key{l.source, s.state}
				i, ok := at[k]
				if !ok {
					i = len(ts)
					at[k] = i
					ts = append(ts, tally{source: l.source, state: s.state})
				}
				from, to := s.clip(r.Load.Duration)
				ts[i].count++
				ts[i].total += to - from
				ts[i].longest = max(ts[i].longest, to-from)
			}
		}
	}
	slices.SortStableFunc(ts, func(a, b tally) int {
		if d := compareNatural(a.source, b.source); d != 0 {
			return d
		}
		return int(b.total - a.total)
	})
	return ts
}

// eventsText writes how often and how long the sources were in each state.
func (c *Comparison) eventsText(b *strings.Builder, s Style) {
	for i := range c.Columns {
		col := &c.Columns[i]
		ts := c.tallies(col.Runs)
		if len(ts) == 0 {
			continue
		}
		head := "events during " + col.Label
		if n := len(col.Runs); n > 1 {
			head += fmt.Sprintf(", %d repeats together", n)
		}
		fmt.Fprintf(b, "%s\n", s.dim(printable(head)))
		t := newTable(4)
		for _, x := range ts[:min(len(ts), maxTallies)] {
			t.add(nil, []string{
				fmt.Sprintf("  %s: %s", x.source, x.state), FormatCount(float64(x.count)) + "x,",
				FormatDuration(x.total) + " in all, longest", FormatDuration(x.longest),
			})
		}
		t.write(b)
		if n := len(ts) - maxTallies; n > 0 {
			fmt.Fprintf(b, "  and %s more\n", FormatCount(float64(n)))
		}
	}
}
