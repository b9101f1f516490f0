//go:build linux

// Package harness measures cases. A case has ways to do something, loads on them, and claims about
// the figures. The harness builds programs, runs all ways in rounds of randomised order on a quiet
// machine, judges the claims by tailstat, and saves the results.
package harness

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

type Case struct {
	Name   string        // group/name, such as httpd/json
	What   string        // with peers and control
	Needs  string        // in addition to two cores
	Rounds int           // default: 7
	Length time.Duration // that a run measures; default: 3 s
	Warmup time.Duration // load before that; default: a tenth of Length

	Ways  []string                    // the control first
	Loads []string                    // default: one, named ""
	Skip  func(way, load string) bool // leaves a way out

	// Open sets values that become [Run.Prepared] of all runs. close may be nil.
	Open func(ctx context.Context, prepared *Run) (close func(), err error)
	// Run measures one way under one load, and sets r's values.
	Run func(ctx context.Context, r *Run) error

	Figures []string // columns of the table; default: all values
	Claims  []Claim
	Report  func(res *Result) // prints more than the table
}

// Claim is a statement about a case, which its results meet, miss or leave inconclusive.
type Claim struct {
	// They name a value of each round. An empty Way means all ways, and an empty Load all loads.
	Load, Way, Figure string

	Over   string // divides by this way in the same round
	Minus  string // subtracts it
	Total  bool   // sums all rounds; a run that failed counts as 1
	Of     string // judges the sum of Figure as a share of this figure's
	Target Target
	Unit   string // default: x or %
}

// Target is a range of values.
type Target struct{ low, high float64 }

func AtMost(most float64) Target { return Between(math.Inf(-1), most) }

func AtLeast(least float64) Target { return Between(least, math.Inf(1)) }

func Between(low, high float64) Target { return Target{low, high} }

// None claims that a figure is 0 in all rounds.
func None(way, load, figure string) Claim {
	return Claim{Way: way, Load: load, Figure: figure, Total: true, Target: AtMost(0)}
}

// NotSlower returns claims that the tail of a way is at most a tenth slower than another's.
func NotSlower(load, way, over string) (claims []Claim) {
	for _, figure := range []string{"p99", "p99.9"} {
		claims = append(claims, Claim{Load: load, Way: way, Figure: figure, Over: over, Target: AtMost(1.1)})
	}
	return claims
}

func (t Target) String() string {
	switch {
	case math.IsInf(t.low, -1):
		return fmt.Sprintf("<= %.4g", t.high)
	case math.IsInf(t.high, 1):
		return fmt.Sprintf(">= %.4g", t.low)
	}
	return fmt.Sprintf("%.4g to %.4g", t.low, t.high)
}

func (c Claim) name() string {
	name := cmp.Or(c.Way, "all") + ": " + c.Figure
	if c.Of != "" {
		name += " of " + c.Of
	}
	if c.Minus != "" {
		name += " more than " + c.Minus
	}
	if c.Over != "" {
		name += " over " + c.Over
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
	Way       string             `json:"way"`
	Load      string             `json:"load,omitempty"`
	Round     int                `json:"round"` // from 1
	Values    map[string]float64 `json:"values,omitempty"`
	Said      string             `json:"said,omitempty"`      // not for claims
	Error     string             `json:"error,omitempty"`     // why it failed
	Disturbed string             `json:"disturbed,omitempty"` // what else took the machine

	Length, Warmup time.Duration      `json:"-"`
	Quick          bool               `json:"-"`
	Prepared       map[string]float64 `json:"-"` // by Case.Open

	h *Harness
}

func (r *Run) Set(figure string, value float64) {
	if r.Values == nil {
		r.Values = map[string]float64{}
	}
	r.Values[figure] = value
}

// NotHere marks the error of a run that this machine cannot do. It is not a failure.
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
	Out  io.Writer
}

func (r *Run) is(way, load string) bool {
	return (way == "" || r.Way == way) && (load == "" || r.Load == load)
}

// Of returns a figure's values and their rounds, without runs that failed. An empty way or load
// means all.
func (res *Result) Of(way, load, figure string) (xs []float64, rounds []int) {
	for _, r := range res.Runs {
		if x, ok := r.Values[figure]; ok && r.is(way, load) && r.Error == "" {
			xs, rounds = append(xs, x), append(rounds, r.Round)
		}
	}
	return xs, rounds
}

// pairs calls f for each round that has both ways.
func (res *Result) pairs(c Claim, other string, f func(a, b float64)) {
	as, rounds := res.Of(c.Way, c.Load, c.Figure)
	bs, others := res.Of(other, c.Load, c.Figure)
	for i, round := range rounds {
		if k := slices.Index(others, round); k >= 0 {
			f(as[i], bs[k])
		}
	}
}

// The interval of five runs is as wide as they are.
const defaultRounds = 7

func (c *Case) loads() []string {
	if len(c.Loads) == 0 {
		return []string{""}
	}
	return c.Loads
}

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

// matches takes a name, a group, or a glob such as gate/*.
func (c *Case) matches(pattern string) bool {
	group, _, _ := strings.Cut(c.Name, "/")
	before, glob := strings.CutSuffix(pattern, "*")
	return pattern == c.Name || pattern == group || glob && strings.HasPrefix(c.Name, before)
}

func (h *Harness) List() {
	for i := range h.Cases {
		c := &h.Cases[i]
		fmt.Fprintf(h.Out, "%s (about %v)\n  %s\n", c.Name, c.takes(), c.What)
		if c.Needs != "" {
			fmt.Fprintf(h.Out, "  needs %s\n", c.Needs)
		}
		for _, claim := range c.Claims {
			fmt.Fprintf(h.Out, "  %-70s %s\n", claim.name(), claim.Target)
		}
		fmt.Fprintln(h.Out)
	}
}

func (c *Case) takes() time.Duration {
	const start = 2 * time.Second // and until the machine is quiet
	length := cmp.Or(c.Length, 3*time.Second)
	each := length + cmp.Or(c.Warmup, length/10) + start
	return (time.Duration(cmp.Or(c.Rounds, defaultRounds)*len(c.runs())) * each).Round(time.Second)
}
