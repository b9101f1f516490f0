package tailstat

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"evenkeel.dev"
	"evenkeel.dev/internal/enum"
)

// Verdict says how head differs from base in a figure.
type Verdict uint8

// Faster is more of a figure whose More is set, and less of another.
const (
	VerdictInconclusive Verdict = iota // the interval holds the ratio 1, or there are too few runs
	VerdictFaster
	VerdictSlower
)

var verdictNames = enum.Of[Verdict]("tailstat", "a verdict", "inconclusive", "faster", "slower")

// String returns inconclusive, faster or slower.
func (v Verdict) String() string { return verdictNames.String(v) }

// MarshalText returns what String does, or an error for another value.
func (v Verdict) MarshalText() ([]byte, error) { return verdictNames.Marshal(v) }

// Options are those of Compare.
type Options struct {
	// Figures are compared. Default: those of Figures. More have wider intervals.
	Figures []Figure

	// Confidence is that of all intervals together. Default 0.95.
	Confidence float64

	// Rounds is how many rounds you measure at most, up to 200, if you compare after each and stop
	// early. Intervals then hold for all looks together. Default 0: you compare once.
	Rounds int
}

// Comparison is head next to base.
type Comparison struct {
	Base   int      `json:"base"` // number of runs
	Head   int      `json:"head"`
	Paired bool     `json:"paired"` // by rounds
	Level  float64  `json:"level"`
	Result []Result `json:"results"`
}

type Interval struct {
	Low  float64 // 0: no bound
	High float64 // infinite: no bound
}

// Contains reports whether x lies in i, bounds included.
func (i Interval) Contains(x float64) bool { return i.Low <= x && x <= i.High }

// HalfWidth returns how far the bounds lie from their middle. 0.1 means 10%.
func (i Interval) HalfWidth() float64 {
	if i.Low <= 0 {
		return math.Inf(1)
	}
	return math.Sqrt(i.High/i.Low) - 1
}

// MarshalJSON writes [low, high].
func (i Interval) MarshalJSON() ([]byte, error) {
	bounds := [2]*float64{}
	if i.Low > 0 {
		bounds[0] = &i.Low
	}
	if !math.IsInf(i.High, 0) {
		bounds[1] = &i.High
	}
	return json.Marshal(bounds)
}

// Result is one figure of head over that of base.
type Result struct {
	Figure  string   `json:"figure"`
	Missing string   `json:"missing,omitempty"` // why it was not compared
	Base    float64  `json:"base"`              // median of the runs
	Head    float64  `json:"head"`
	Ratio   float64  `json:"ratio"` // Hodges and Lehmann's estimate
	Within  Interval `json:"within"`
	P       float64  `json:"p"` // of the test for no difference, uncorrected
	Verdict Verdict  `json:"verdict"`

	noise noise
}

// Compare compares the runs of head with those of base, by rounds if each run of base has one of
// head in its round. Fewer than two runs of either are an error, as are values that are negative or
// not finite.
func Compare(base, head []Run, o Options) (*Comparison, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	for _, set := range []struct {
		name string
		runs []Run
	}{{"base", base}, {"head", head}} {
		switch len(set.runs) {
		case 0:
			return nil, fmt.Errorf("tailstat: no run of %s; measure it as often as the other", set.name)
		case 1:
			return nil, fmt.Errorf("tailstat: one run of %s does not show how runs vary; measure %d rounds at least",
				set.name, fewest(o, true))
		}
	}
	c := &Comparison{Base: len(base), Head: len(head)}
	base, head, c.Paired = pair(base, head)
	switch {
	case o.Rounds > 0 && !c.Paired:
		return nil, evenkeel.NewOptionError("tailstat.Options",
			"Rounds", "these runs are not in rounds, each with one of base and one of head; write 0, or number the "+
				"rounds")
	case o.Rounds > 0 && len(base) > o.Rounds:
		return nil, evenkeel.NewOptionError("tailstat.Options",
			"Rounds", "%d rounds are more than the %d that were announced; the intervals would not hold", len(base),
			o.Rounds)
	}
	c.Level = 1 - o.nominal()
	for _, f := range o.Figures {
		r, err := compare(f, base, head, c.Paired, c.Level)
		if err != nil {
			return nil, err
		}
		c.Result = append(c.Result, r)
	}
	return c, nil
}

// check also fills in the defaults.
func (o *Options) check() error {
	if o.Confidence == 0 {
		o.Confidence = .95
	}
	if o.Figures == nil {
		o.Figures = Figures()
	}
	switch {
	case !(o.Confidence >= .5 && o.Confidence < 1):
		return evenkeel.NewOptionError("tailstat.Options", "Confidence", "%v is not from 0.5 to 1; write 0.95, say",
			o.Confidence)
	case o.Rounds < 0 || o.Rounds > MaxRounds:
		return evenkeel.NewOptionError("tailstat.Options", "Rounds", "%d is not from 0 to %d", o.Rounds, MaxRounds)
	case len(o.Figures) == 0:
		return evenkeel.NewOptionError("tailstat.Options", "Figures", "it is empty; leave it nil for all")
	}
	for i, f := range o.Figures {
		if f.Of == nil || f.Name == "" {
			return evenkeel.NewOptionError("tailstat.Options", "Figures", "number %d (%q) lacks a name or Of", i,
				f.Name)
		}
	}
	return nil
}

// nominal returns how often the interval of one figure may be wrong, so that all of them hold at once
// with Confidence. The figures share the error (Bonferroni), and the looks at a figure share its part.
func (o *Options) nominal() float64 {
	alpha := (1 - o.Confidence) / float64(len(o.Figures))
	if o.Rounds > 0 {
		alpha = perLook(alpha, o.Rounds)
	}
	return alpha
}

// Fewest returns how many rounds a verdict other than inconclusive needs at least.
func Fewest(o Options) (int, error) {
	if err := o.check(); err != nil {
		return 0, err
	}
	return fewest(o, true), nil
}

func fewest(o Options, paired bool) int {
	alpha := o.nominal()
	for n := 2; ; n++ {
		if null(n, n, paired).critical(alpha) >= 0 {
			return n
		}
	}
}

func pair(base, head []Run) (b, h []Run, paired bool) {
	if len(base) != len(head) {
		return base, head, false
	}
	b, h = slices.Clone(base), slices.Clone(head)
	byRound := func(x, y Run) int { return x.Round - y.Round }
	slices.SortFunc(b, byRound)
	slices.SortFunc(h, byRound)
	for i := range b {
		if b[i].Round != h[i].Round || b[i].Round == 0 || i > 0 && b[i].Round == b[i-1].Round {
			return base, head, false
		}
	}
	return b, h, true
}

func logs(f Figure, name string, runs []Run) (xs []float64, missing string, err error) {
	for i := range runs {
		x, err := f.Of(&runs[i])
		switch {
		case err != nil:
			return nil, fmt.Sprintf("run %d of %s: %v", i+1, name, err), nil
		case math.IsNaN(x) || math.IsInf(x, 0) || x < 0:
			return nil, "", fmt.Errorf("tailstat: %s of run %d of %s is %v; the run is damaged, measure it again",
				f.Name, i+1, name, x)
		case x == 0:
			return nil, fmt.Sprintf("run %d of %s: 0 has no ratio", i+1, name), nil
		}
		xs = append(xs, math.Log(x))
	}
	return xs, "", nil
}

func compare(f Figure, base, head []Run, paired bool, level float64) (Result, error) {
	r := Result{Figure: f.Name}
	x, missing, err := logs(f, "base", base)
	y, missingHead, errHead := logs(f, "head", head)
	if err := errors.Join(err, errHead); err != nil {
		return r, err
	}
	if r.Missing = cmp.Or(missing, missingHead); r.Missing != "" {
		return r, nil
	}
	var e estimate
	if paired {
		d := make([]float64, len(x))
		for i := range d {
			d[i] = y[i] - x[i]
		}
		e = signedRank(d, level)
		r.noise = pairedNoise(d, e.value, level)
	} else {
		e = rankSum(x, y, level)
		r.noise = looseNoise(x, y, level)
	}
	r.Base, r.Head = math.Exp(median(x)), math.Exp(median(y))
	r.Ratio, r.Within, r.P = math.Exp(e.value), Interval{math.Exp(e.low), math.Exp(e.high)}, e.p
	if !r.Within.Contains(1) {
		r.Verdict = VerdictSlower
		if f.More == (r.Ratio > 1) {
			r.Verdict = VerdictFaster
		}
	}
	r.noise.runs = [2]int{len(base), len(head)}
	return r, nil
}

func median(xs []float64) float64 {
	xs = slices.Clone(xs)
	slices.Sort(xs)
	return (xs[(len(xs)-1)/2] + xs[len(xs)/2]) / 2
}
