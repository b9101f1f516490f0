package compare

import (
	"cmp"
	"fmt"
	"slices"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

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
		return "a load of which rate and connections are not known"
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
