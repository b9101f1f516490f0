//go:build linux

package harness

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"evenkeel.dev/tailstat"
)

type figure struct {
	Name     string    `json:"name"`
	Measured float64   `json:"measured"`           // median
	Range    []float64 `json:"range,omitempty"`    // lowest and highest run
	Interval []float64 `json:"interval,omitempty"` // of their centre
	Unit     string    `json:"unit,omitempty"`
	Target   string    `json:"target"`
	Verdict  verdict   `json:"verdict"`
}

type verdict string

const (
	met          verdict = "met"
	missed       verdict = "missed"
	inconclusive verdict = "inconclusive"
)

// judge holds the claims of a case against its runs. A target is met if it holds the whole interval
// of the values' centre (95% on its side, by signed ranks), missed if it holds no part of it, and
// inconclusive otherwise. An interval takes five runs. A single value that is not a ratio is its
// own interval, as are values that are all alike.
func (s *set) judge(res *Result) {
	for _, c := range res.Case.Claims {
		xs, _ := res.Of(c.Way, c.Load, c.Figure)
		failed := c.Total &&
			slices.ContainsFunc(res.Runs, func(r *Run) bool { return r.is(c.Way, c.Load) && r.Error != "" })
		if len(xs) == 0 && !failed {
			continue // not measured
		}
		switch {
		case c.Of != "":
			trials, _ := res.Of(c.Way, c.Load, c.Of)
			s.share(c, int(sum(xs)), int(sum(trials)))
		case c.Minus != "":
			var differences []float64
			res.pairs(c, c.Minus, func(a, b float64) { differences = append(differences, a-b) })
			s.values(c, differences, "")
		case c.Over != "":
			var ratios []float64
			res.pairs(c, c.Over, func(a, b float64) {
				if b != 0 {
					ratios = append(ratios, a/b)
				}
			})
			s.values(c, ratios, "x")
		default:
			if c.Total {
				xs = []float64{sum(xs)}
			}
			if failed {
				xs[0]++
			}
			s.values(c, xs, "")
		}
	}
}

func sum(xs []float64) (total float64) {
	for _, x := range xs {
		total += x
	}
	return total
}

func (s *set) values(c Claim, xs []float64, unit string) {
	from, to := interval(xs)
	f := figure{
		Name: c.name(), Measured: Median(xs), Unit: cmp.Or(c.Unit, unit),
		Target: c.Target.String(), Verdict: c.Target.holds(from, to),
	}
	switch {
	case len(xs) == 0, len(xs) == 1 && c.Over != "":
		f.Verdict = inconclusive
	case len(xs) > 1:
		f.Range = []float64{slices.Min(xs), slices.Max(xs)}
		if !math.IsInf(to, 1) {
			f.Interval = []float64{from, to}
		}
	}
	s.add(f)
}

// The interval holds the true share with 95% on either side.
func (s *set) share(c Claim, hits, trials int) {
	from, to := wilson(hits, trials)
	s.add(figure{
		Name: c.name(), Measured: 100 * float64(hits) / float64(max(trials, 1)), Interval: []float64{from, to},
		Unit: "%", Target: c.Target.String(), Verdict: c.Target.holds(from, to),
	})
}

// E. B. Wilson, JASA 22, 1927
func wilson(hits, trials int) (low, high float64) {
	if trials == 0 {
		return 0, 100
	}
	const z = 1.6449
	n := float64(trials)
	p := float64(hits) / n
	mid, half := (p+z*z/2/n)/(1+z*z/n), z*math.Sqrt(p*(1-p)/n+z*z/4/n/n)/(1+z*z/n)
	return 100 * max(0, mid-half), 100 * min(1, mid+half)
}

func (s *set) add(f figure) {
	fmt.Fprintf(s.out, "%-70s %-34s %-14s %s\n", f.Name, f.text(), f.Target, f.Verdict)
	s.Figures = append(s.Figures, f)
}

func (f *figure) text() string {
	text := digits(f.Measured) + f.Unit
	within := f.Interval
	if within == nil {
		within = f.Range
	}
	if len(within) == 2 {
		text += " [" + digits(within[0]) + ".." + digits(within[1]) + "]"
	}
	return text
}

// digits has three of them at least.
func digits(x float64) string {
	if math.Abs(x) >= 1000 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

func (t Target) holds(from, to float64) verdict {
	switch {
	case to < t.low || from > t.high:
		return missed
	case t.low <= from && to <= t.high:
		return met
	}
	return inconclusive
}

// interval returns where the runs' centre lies, at 90%: 95% on a target's side. Positive values differ
// by factors.
func interval(xs []float64) (low, high float64) {
	if len(xs) > 0 && slices.Min(xs) == slices.Max(xs) {
		return xs[0], xs[0]
	}
	positive := len(xs) > 0 && slices.Min(xs) > 0
	ys := slices.Clone(xs)
	for i := range ys {
		if positive {
			ys[i] = math.Log(ys[i])
		}
	}
	low, high, err := tailstat.SignedRank(ys, .9)
	switch {
	case err != nil:
		return math.Inf(-1), math.Inf(1)
	case positive:
		return math.Exp(low), math.Exp(high)
	}
	return low, high
}

// Median returns 0 for nothing.
func Median(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	xs = slices.Sorted(slices.Values(xs))
	n := len(xs)
	return (xs[(n-1)/2] + xs[n/2]) / 2
}

func (res *Result) table() {
	columns := slices.DeleteFunc(slices.Clone(res.Case.figures(res.Runs)), func(name string) bool {
		return !slices.ContainsFunc(res.Runs, func(r *Run) bool { _, ok := r.Values[name]; return ok })
	})
	for _, load := range res.Case.loads() {
		rows := [][]string{append([]string{load}, columns...)}
		for _, way := range res.Case.Ways {
			row, measured := []string{way}, false
			for _, name := range columns {
				xs, _ := res.Of(way, load, name)
				cell := ""
				if len(xs) > 0 {
					cell, measured = fmt.Sprintf("%.4g", Median(xs)), true
				}
				row = append(row, cell)
			}
			if measured {
				rows = append(rows, row)
			}
		}
		if len(rows) > 1 {
			printTable(res.Out, rows)
		}
	}
	if res.Case.Report != nil {
		res.Case.Report(res)
	}
}

func printTable(out io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t")+"\t")
	}
	_ = t.Flush() // to a terminal or a log
	fmt.Fprintln(out)
}
