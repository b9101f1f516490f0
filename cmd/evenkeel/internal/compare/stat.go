package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

// confidence is the probability with which all intervals hold together.
const confidence = .95

var slowShare = map[string]float64{
	"p50": .5, "p90": .1, "p99": .01, "p99.9": .001, "slowest 1%": .01, "slowest 0.1%": .001,
}

// Least returns how many requests a run needs so that a figure is judged, or 0 for any number.
func Least(figure string) int64 {
	share, ok := slowShare[figure]
	if !ok {
		return 0
	}
	const atLeast = 10 // in the share, as tailstat has it
	return int64(math.Round(atLeast / share))
}

func haveAll(figure string, runs []tailstat.Run) bool {
	return !slices.ContainsFunc(runs, func(r tailstat.Run) bool { return r.Values[figure] == 0 })
}

// sides returns the runs of two columns to compare. Only runs of one file are in rounds, and only
// rounds with both stay.
func sides(base, head []tailstat.Run, sameFile bool) (b, h []tailstat.Run) {
	b, h = slices.Clone(base), slices.Clone(head)
	none := func(r tailstat.Run) bool { return r.Round == 0 }
	if !sameFile || slices.ContainsFunc(b, none) || slices.ContainsFunc(h, none) {
		for _, set := range [][]tailstat.Run{b, h} {
			for i := range set {
				set[i].Round = 0
			}
		}
		return b, h
	}
	alone := func(other []tailstat.Run) func(tailstat.Run) bool {
		return func(r tailstat.Run) bool {
			return !slices.ContainsFunc(other, func(o tailstat.Run) bool { return o.Round == r.Round })
		}
	}
	return slices.DeleteFunc(b, alone(head)), slices.DeleteFunc(h, alone(base))
}

// statRuns returns runs with their figures, without those that were cut short or disturbed by the
// load generator.
func statRuns(runs []*runfile.Run, figures []Figure) (list []tailstat.Run) {
	for _, r := range runs {
		if r.Load.Interrupted || r.Load.FailedBy(loadgen.ClassGenerator) > 0 {
			continue
		}
		s := tailstat.Run{Round: r.Round, Values: map[string]float64{}}
		for i := range figures {
			if x, ok := figures[i].Of(r); ok && x > 0 && !math.IsInf(x, 0) &&
				r.Load.Latency.Count() >= Least(figures[i].Name) {
				s.Values[figures[i].Name] = x
			}
		}
		list = append(list, s)
	}
	return list
}

// Ratio returns a result's ratio for people, and "~" if the interval holds 1.
func Ratio(r *tailstat.Result) string {
	switch {
	case r == nil:
		return ""
	case r.Verdict == tailstat.VerdictInconclusive:
		return "~"
	case math.Abs(r.Ratio-1) < .005: // a certain change must not read 1.00x
		return fmt.Sprintf("%.4fx", r.Ratio)
	}
	return textfmt.Ratio(r.Ratio)
}

// Bounds returns a result's interval for people, or "".
func Bounds(r *tailstat.Result) string {
	if r == nil || r.Within.Low <= 0 || math.IsInf(r.Within.High, 0) {
		return ""
	}
	low, high := textfmt.Ratio(r.Within.Low), textfmt.Ratio(r.Within.High)
	if r.Verdict != tailstat.VerdictInconclusive && (low == "1.00x" || high == "1.00x") {
		low, high = fmt.Sprintf("%.4f", r.Within.Low), fmt.Sprintf("%.4f", r.Within.High)
	}
	return "[" + strings.TrimSuffix(low, "x") + "–" + strings.TrimSuffix(high, "x") + "]"
}

// Change writes a ratio of 1 or more as a change, such as +35%.
func Change(ratio float64) string {
	switch {
	case ratio >= 10:
		return textfmt.Ratio(ratio)
	case ratio < 1.001:
		return "<0.1%"
	}
	percent := 100 * (ratio - 1)
	if percent < 9.95 {
		return fmt.Sprintf("%+.2g%%", percent)
	}
	return fmt.Sprintf("%+.0f%%", percent)
}

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
