package compare

import (
	"fmt"
	"math"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/tailstat"
)

// Limit is how much a figure may change.
type Limit struct {
	Figure string  // name of a row
	Ratio  float64 // to the base's; 1.2: a fifth more
	Less   bool    // exceeded below Ratio, not above it
}

// Outcome is what runs say of a limit.
type Outcome uint8

// The outcomes.
const (
	OutcomeKept     Outcome = iota // the whole interval keeps the limit
	OutcomeExceeded                // the whole interval lies beyond the limit
	OutcomeUnknown                 // the limit lies within the interval, or there is none
)

// Finding is what the runs of a column say of a limit.
type Finding struct {
	Outcome Outcome
	Text    string

	// Rounds is how many runs of each would decide. It is 0 if that is not known or the outcome is,
	// and over tailstat.MaxNeeded if no such number would.
	Rounds int
}

// Check compares each column with a limit on a judged figure.
func (c *Comparison) Check(l Limit) (list []Finding) {
	row := c.Row(l.Figure)
	for k := range c.Columns {
		if k == c.Base {
			continue
		}
		f := Finding{Outcome: OutcomeUnknown, Text: "not known of two runs of each at least, with as many requests " +
			"as it needs"}
		if row != nil && row.results[k] != nil {
			f = c.check(l, k, row.results[k])
		}
		f.Text = fmt.Sprintf("%s of %q: %s", l.Figure, c.Columns[k].Label, f.Text)
		list = append(list, f)
	}
	return list
}

func (c *Comparison) check(l Limit, column int, r *tailstat.Result) Finding {
	bounds := Bounds(r)
	if bounds == "" {
		return Finding{Outcome: OutcomeUnknown, Text: c.canTell(column, r)}
	}
	is := fmt.Sprintf("%s of %q's, within %s", textfmt.Ratio(r.Ratio), c.Columns[c.Base].Label, bounds)
	beyond, kept := r.Within.Low > l.Ratio, r.Within.High <= l.Ratio
	if l.Less {
		beyond, kept = r.Within.High < l.Ratio, r.Within.Low >= l.Ratio
	}
	switch {
	case beyond:
		return Finding{Outcome: OutcomeExceeded, Text: is}
	case kept:
		return Finding{Outcome: OutcomeKept, Text: is}
	}
	// As noisy runs decide if they show as large a change from 1.
	text := is + "; the limit lies there"
	if n, ok := r.Needed(math.Exp(math.Abs(math.Log(r.Ratio / l.Ratio)))); ok {
		return Finding{OutcomeUnknown, fmt.Sprintf("%s; some %d runs of each would tell", text, n), n}
	}
	text = fmt.Sprintf("%s; %s runs of each would not tell", text, textfmt.Count(tailstat.MaxNeeded))
	return Finding{OutcomeUnknown, text, tailstat.MaxNeeded + 1}
}
