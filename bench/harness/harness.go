//go:build linux

// Package harness measures the cases of the benchmarks. A case is a row of a table: the ways to do
// something (variants, peers and a control), the loads on them, and claims about what comes out. The
// harness does the rest for all of them: it builds programs, runs all ways in rounds of randomised
// order, waits for a quiet machine, samples what processes take, judges the claims by tailstat, and
// saves what was measured, also before an interrupt.
package harness

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Case is one benchmark.
type Case struct {
	// Name is group/name, such as httpd/json.
	Name string
	// What says what is measured, against which peers and which control.
	What string
	// Needs names what the case needs in addition to two cores, such as HAProxy or root.
	Needs string
	// Rounds is how often each way is measured under each load. Default: 10.
	Rounds int
	// Length is how long a run measures, and Warmup how long it loads before that. Default: 3 s, and
	// a tenth of Length.
	Length, Warmup time.Duration

	// Ways are what is compared. The first is the control.
	Ways []string
	// Loads are what each way is put under. Default: one load, named "".
	Loads []string
	// Skip reports whether a way is not measured under a load. Default: all are measured.
	Skip func(way, load string) bool

	// Open prepares the case, such as by a calibration. Values that it sets hold for all runs of it
	// ([Run.Prepared]). close, if it is not nil, ends what Open started. Default: nothing is prepared.
	Open func(ctx context.Context, prepared *Run) (close func(), err error)
	// Run measures one way under one load. It puts what it measured into r.
	Run func(ctx context.Context, r *Run) error

	// Figures are the columns of the case's table, by their names in [Run.Values]. Default: all.
	Figures []string
	Claims  []Claim
	// Report prints more than the table. Default: nothing.
	Report func(res *Result)
}

// Claim is a statement about a case, which its results meet, miss or leave inconclusive.
type Claim struct {
	// Load, Way and Figure name the values: one of each round. Of a share or a total, an empty Way is
	// all ways, and an empty Load all loads.
	Load, Way, Figure string
	// Over is the way that each value is divided by, that of the same round. Default: it is not divided.
	Over string
	// Minus is the way whose value of the same round is subtracted. Default: nothing is.
	Minus string
	// OverLoad is the load of Over. Default: Load.
	OverLoad string
	// Total judges the sum over all rounds as a count. A run that failed counts as 1.
	Total bool
	// Of makes the claim a share, in percent: the sum of Figure in that of this figure.
	Of string
	// Target is what the values have to be.
	Target Target
	// Unit follows the values. Default: x for ratios and % for shares.
	Unit string
}

// Target is a range of values, or "not slower" by tailstat.
type Target struct {
	low, high *float64
	notSlower bool
}

// AtMost is the target of values that do not exceed most.
func AtMost(most float64) Target { return Target{high: &most} }

// AtLeast is the target of values that reach least.
func AtLeast(least float64) Target { return Target{low: &least} }

// Between is the target of values from low to high.
func Between(low, high float64) Target { return Target{low: &low, high: &high} }

// None claims that a figure is 0 in all rounds. A run that failed counts against it.
func None(way, load, figure string) Claim {
	return Claim{Way: way, Load: load, Figure: figure, Total: true, Target: AtMost(0)}
}

// NotSlower is the target of a way whose p99 and p99.9 tailstat does not call slower than those of
// Claim.Over. Claim.Figure is not used.
var NotSlower = Target{notSlower: true}

func (t Target) String() string {
	switch {
	case t.notSlower:
		return "not slower"
	case t.low == nil:
		return fmt.Sprintf("<= %.4g", *t.high)
	case t.high == nil:
		return fmt.Sprintf(">= %.4g", *t.low)
	}
	return fmt.Sprintf("%.4g to %.4g", *t.low, *t.high)
}

// name returns the claim in words.
func (c Claim) name() string {
	figure := c.Figure
	if c.Target.notSlower {
		figure = "p99 and p99.9"
	}
	name := cmp.Or(c.Way, "all") + ": " + figure
	if c.Of != "" {
		name += " of " + c.Of
	}
	if c.Minus != "" {
		name += " more than " + c.Minus
	}
	if c.Over != "" {
		name += " over " + c.Over
		if c.OverLoad != "" && c.OverLoad != c.Load {
			name += ", " + c.OverLoad
		}
	}
	if c.Total {
		name += ", in all"
	}
	if c.Load != "" {
		name = c.Load + ": " + name
	}
	return name
}

// Run is one run of a way under a load.
type Run struct {
	Way    string             `json:"way"`
	Load   string             `json:"load,omitempty"`
	Round  int                `json:"round"` // from 1
	Values map[string]float64 `json:"values,omitempty"`
	Extra  map[string]any     `json:"extra,omitempty"` // what no claim is about, such as a histogram
	Error  string             `json:"error,omitempty"` // why it failed; its values count for nothing
	// Disturbed says what else took the machine during the run.
	Disturbed string `json:"disturbed,omitempty"`

	// Length and Warmup are those of the case, or shorter ones if Quick.
	Length time.Duration `json:"-"`
	Warmup time.Duration `json:"-"`
	Quick  bool          `json:"-"` // only to see that everything works

	// Prepared are the values that Case.Open has set.
	Prepared map[string]float64 `json:"-"`

	h *Harness
}

// Set sets a value.
func (r *Run) Set(figure string, value float64) {
	if r.Values == nil {
		r.Values = map[string]float64{}
	}
	r.Values[figure] = value
}

// Keep keeps in the results what no claim is about.
func (r *Run) Keep(name string, v any) {
	if r.Extra == nil {
		r.Extra = map[string]any{}
	}
	r.Extra[name] = v
}

// NotHere is the error of a run that this machine cannot do, such as for want of io_uring or HAProxy.
// Such a run counts for nothing, and is not a failure.
func NotHere(err error) error { return notHere{err} }

type notHere struct{ error }

// Unless returns whole, or quick in a quick run.
func Unless[T any](r *Run, whole, quick T) T {
	if r.Quick {
		return quick
	}
	return whole
}

// Result is what the runs of a case gave.
type Result struct {
	Case *Case
	Runs []*Run
	Out  *Output
}

// is reports whether the run is of a way and a load. An empty one is any.
func (r *Run) is(way, load string) bool {
	return (way == "" || r.Way == way) && (load == "" || r.Load == load)
}

// Of returns a figure's values of a way under a load, a run each, and their rounds. Runs that
// failed are not among them. An empty way is all ways, and an empty load all loads.
func (res *Result) Of(way, load, figure string) (xs []float64, rounds []int) {
	for _, r := range res.Runs {
		if x, ok := r.Values[figure]; ok && r.is(way, load) && r.Error == "" {
			xs, rounds = append(xs, x), append(rounds, r.Round)
		}
	}
	return xs, rounds
}

// Ratios returns the values of a way over those of another in the rounds that have both.
func (res *Result) Ratios(way, load, over, overLoad, figure string) (xs []float64) {
	res.pairs(way, load, over, overLoad, figure, func(a, b float64) {
		if b != 0 {
			xs = append(xs, a/b)
		}
	})
	return xs
}

// Differences returns the values of a way less those of another in the rounds that have both.
func (res *Result) Differences(way, load, minus, figure string) (xs []float64) {
	res.pairs(way, load, minus, load, figure, func(a, b float64) { xs = append(xs, a-b) })
	return xs
}

// pairs calls f with the values of two ways in the rounds that have both.
func (res *Result) pairs(way, load, other, otherLoad, figure string, f func(a, b float64)) {
	as, rounds := res.Of(way, load, figure)
	bs, others := res.Of(other, otherLoad, figure)
	for i, round := range rounds {
		if k := slices.Index(others, round); k >= 0 {
			f(as[i], bs[k])
		}
	}
}

// loads returns the loads of a case.
func (c *Case) loads() []string {
	if len(c.Loads) == 0 {
		return []string{""}
	}
	return c.Loads
}

// runs returns the pairs of ways and loads that are measured.
func (c *Case) runs() (list []Run) {
	for _, load := range c.loads() {
		for _, way := range c.Ways {
			if c.Skip == nil || !c.Skip(way, load) {
				list = append(list, Run{Way: way, Load: load})
			}
		}
	}
	return list
}

// figures returns the columns of the table.
func (c *Case) figures(runs []*Run) []string {
	if c.Figures != nil {
		return c.Figures
	}
	var names []string
	for _, r := range runs {
		for name := range r.Values {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// matches reports whether a pattern of -run names the case: its name, its group, or a glob such as gate/*.
func (c *Case) matches(pattern string) bool {
	group, _, _ := strings.Cut(c.Name, "/")
	before, glob := strings.CutSuffix(pattern, "*")
	return pattern == c.Name || pattern == group || glob && strings.HasPrefix(c.Name, before)
}
