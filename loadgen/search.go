package loadgen

import (
	"context"
	"math"

	"evenkeel.dev"
	"evenkeel.dev/internal/enum"
)

// Verdict is what a step of a [RateSearch] found out about a rate.
type Verdict int

// The verdicts.
const (
	VerdictUnknown Verdict = iota // inconclusive
	VerdictHolds                  // the condition holds at this rate
	VerdictFails                  // it does not
)

var verdictNames = enum.Of[Verdict]("loadgen", "a verdict", "inconclusive", "holds", "fails")

func (v Verdict) String() string { return verdictNames.String(v) }

// MarshalText writes inconclusive, holds or fails. It fails for another value.
func (v Verdict) MarshalText() ([]byte, error) { return verdictNames.Marshal(v) }

// UnmarshalText reads what MarshalText writes.
func (v *Verdict) UnmarshalText(b []byte) error { return verdictNames.Parse(b, v) }

// RateSearch looks for the highest rate at which a condition holds, such as p99 < 20 ms. It has no
// clock and puts no load on: a step does, whatever it is.
//
// From Start it goes up (or down) until one rate holds and a higher one does not, by factors of 2,
// 4 and then 8, so that a good guess is not left far behind and a bad one is. Then it bisects, on
// the logarithm of the rate, until the two are within half of the Tolerance, since a verdict close
// to the limit may be wrong by chance. 12 steps get them within the default Tolerance from any
// Start within a factor of 4,000 of the answer. An inconclusive rate counts as one
// that does not hold, and the result says how far up that reaches.
//
// The zero value works.
type RateSearch struct {
	Start     float64 // the first rate to try, requests per second; default 100
	Lowest    float64 // where to give up going down; default and at least MinRate
	Highest   float64 // where to give up going up; default and at most MaxRate
	Tolerance float64 // how far the result may be from the highest rate, as a share of it, 0.001 to 1; default 0.05
	MaxSteps  int     // default 12, at most 1,000
}

// RateStep is a step of a search.
type RateStep struct {
	Rate    float64 `json:"rate"`
	Verdict Verdict `json:"verdict"`
}

// RateFound is what a search found.
type RateFound struct {
	Rate  float64 `json:"rate"`            // the highest that holds; 0: none did
	Fails float64 `json:"fails,omitempty"` // the lowest that fails; 0: none did
	// Unknown is the lowest rate above Rate of which the step could not tell; 0: it could of all. Between it and Fails
	// more measuring might find a higher rate.
	Unknown float64    `json:"unknown,omitempty"`
	Within  bool       `json:"within"` // Rate is within Tolerance of the lowest rate that does not hold
	Steps   []RateStep `json:"steps"`
}

// Run searches until the answer is as exact as asked for, MaxSteps are taken, ctx ends or a step
// returns an error, which Run returns with what was found until then. The only other error is an *evenkeel.OptionError.
func (s RateSearch) Run(ctx context.Context, step func(ctx context.Context, rate float64) (Verdict, error)) (RateFound,
	error,
) {
	if err := s.normal(); err != nil {
		return RateFound{}, err
	}
	var f RateFound
	rate, factor := s.Start, 2.0
	for len(f.Steps) < s.MaxSteps {
		if err := ctx.Err(); err != nil {
			return f, err
		}
		v, err := step(ctx, rate)
		if err != nil {
			return f, err
		}
		f.add(RateStep{rate, v})
		bound := f.bound()
		switch {
		case f.Rate > 0 && bound > 0:
			f.Within = bound <= f.Rate*(1+s.Tolerance)
			if bound <= f.Rate*(1+s.Tolerance/2) {
				return f, nil
			}
			rate = math.Sqrt(f.Rate * bound)
			continue
		case f.Rate > 0 && rate >= s.Highest, f.Rate == 0 && rate <= s.Lowest:
			return f, nil
		case f.Rate > 0:
			rate = min(rate*factor, s.Highest)
		default:
			rate = max(rate/factor, s.Lowest)
		}
		factor = min(2*factor, 8)
	}
	return f, nil
}

// add takes a step's verdict in. The invariant: Rate < bound, wherever both are there.
func (f *RateFound) add(s RateStep) {
	f.Steps = append(f.Steps, s)
	lowest := func(x *float64) {
		if *x == 0 || s.Rate < *x {
			*x = s.Rate
		}
	}
	switch s.Verdict {
	case VerdictHolds:
		f.Rate = max(f.Rate, s.Rate)
	case VerdictFails:
		lowest(&f.Fails)
	default:
		lowest(&f.Unknown)
	}
}

// bound is the lowest rate that is not known to hold; 0 where there is none.
func (f *RateFound) bound() float64 {
	if f.Fails == 0 || f.Unknown == 0 {
		return f.Fails + f.Unknown
	}
	return min(f.Fails, f.Unknown)
}

func (s *RateSearch) normal() error {
	for _, x := range []struct {
		name       string
		value      *float64
		or         float64
		from, upTo float64
	}{
		{"Start", &s.Start, 100, MinRate, MaxRate},
		{"Lowest", &s.Lowest, MinRate, MinRate, MaxRate},
		{"Highest", &s.Highest, MaxRate, MinRate, MaxRate},
		{"Tolerance", &s.Tolerance, .05, .001, 1},
	} {
		if *x.value == 0 {
			*x.value = x.or
		}
		if !(*x.value >= x.from && *x.value <= x.upTo) { // NaN too
			return evenkeel.NewOptionError("loadgen.Options", x.name, "%v; it goes from %v to %v, or is 0 for %v",
				*x.value, x.from, x.upTo, x.or)
		}
	}
	switch {
	case s.Lowest > s.Start || s.Start > s.Highest:
		return evenkeel.NewOptionError("loadgen.Options", "Start", "%v; it lies between Lowest (%v) and Highest (%v)",
			s.Start, s.Lowest, s.Highest)
	case s.MaxSteps < 0 || s.MaxSteps > 1000:
		return evenkeel.NewOptionError("loadgen.Options", "MaxSteps", "%d; it goes from 1 to 1000, or is 0 for 12",
			s.MaxSteps)
	case s.MaxSteps == 0:
		s.MaxSteps = 12
	}
	return nil
}
