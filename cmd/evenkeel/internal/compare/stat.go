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

// Ten requests lie beyond each percentile, as in tailstat.
var leastRequests = map[string]int64{
	"p50": 20, "p90": 100, "p99": 1000, "p99.9": 10_000, "slowest 1%": 1000, "slowest 0.1%": 10_000,
}

// Least returns how many requests a run needs for a figure.
func Least(figure string) int64 { return leastRequests[figure] }

// ofAll returns the figures of all these runs, if each side has two.
func ofAll(figures []Figure, base, head []tailstat.Run) (list []tailstat.Figure) {
	if len(base) < 2 || len(head) < 2 {
		return nil
	}
	for _, f := range figures {
		lacks := func(r tailstat.Run) bool { return r.Values[f.Name] == 0 }
		if !slices.ContainsFunc(base, lacks) && !slices.ContainsFunc(head, lacks) {
			list = append(list, tailstat.Value(f.Name, f.More()))
		}
	}
	return list
}

// Only runs of one file are in rounds, and only rounds with both sides stay.
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

// statRuns leaves out runs that were cut short or disturbed by the load generator.
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

// Ratio writes a result's ratio, or "~" if it is inconclusive.
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

// Bounds writes a result's interval, or "".
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

// change writes a ratio of 1 or more as a change, such as +35%.
func change(ratio float64) string {
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

// Shown returns the verdict that colours a figure.
func (r *Row) Shown(column int) tailstat.Verdict {
	if x := r.Results[column]; x != nil {
		return x.Verdict
	}
	return tailstat.VerdictInconclusive
}

// Spoilt says what disturbed a run, or "". Such a run stays in all figures, because leaving out
// runs by what they measured would choose the result.
func Spoilt(r *runfile.Run) string {
	var list []string
	if n := r.Load.FailedBy(loadgen.ClassGenerator); n > 0 {
		list = append(list, textfmt.Count(float64(n))+" requests failed by the load generator's own limit")
	}
	for _, taken := range r.Disturbance.Taken() {
		list = append(list, taken.String())
	}
	// With all connections busy, the service made requests late. The pacer's own lateness is the
	// load generator's.
	if r.Load.Pacer.Count() > 0 {
		if late := r.Load.Pacer.Quantile(.99); late > loadgen.LateAfter {
			list = append(list, fmt.Sprintf(
				"the load generator itself was late with 1%% of the requests, by %s and more",
				textfmt.Duration(late)))
		}
	}
	return strings.Join(list, ", ")
}
