package loadgen

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/internal/enum"
)

// Arrivals says how the requests of the open loop are spaced.
type Arrivals int

const (
	// ArrivalsConstant spaces them evenly.
	ArrivalsConstant Arrivals = iota
	// ArrivalsPoisson draws exponential gaps, as many independent clients would make.
	ArrivalsPoisson
	// ArrivalsTimes uses Options.Times, which imply it.
	ArrivalsTimes
)

var arrivalsNames = enum.Of[Arrivals]("loadgen", "a process of arrivals", "constant", "poisson", "times")

func (a Arrivals) String() string { return arrivalsNames.String(a) }

// MarshalText writes constant, poisson or times.
func (a Arrivals) MarshalText() ([]byte, error) { return arrivalsNames.Marshal(a) }

// UnmarshalText reads what MarshalText writes.
func (a *Arrivals) UnmarshalText(b []byte) error { return arrivalsNames.Parse(b, a) }

// Stage is a part of the open loop with its own rate, or with a ramp.
type Stage struct {
	From     float64       `json:"from"` // requests per second at its start, 0 to MaxRate
	To       float64       `json:"to"`   // at its end
	Duration time.Duration `json:"duration_ns"`
}

func (s Stage) requests() float64 { return (s.From + s.To) / 2 * s.Duration.Seconds() }

// at returns the nanoseconds after which n requests are due.
func (s Stage) at(n float64) float64 {
	if s.From == s.To {
		return n * (1e9 / s.From)
	}
	if n <= 0 {
		return 0
	}
	// The rate is From + slope t, so n = From t + slope t²/2. This solution does not cancel.
	slope := (s.To - s.From) / s.Duration.Seconds()
	return 2e9 * n / (s.From + math.Sqrt(max(0, s.From*s.From+2*slope*n)))
}

const (
	maxStages = 10_000
	maxTimes  = 100_000_000
)

// rounding is the part of a request that rounding may add before the end.
const rounding = 1e-6

type schedule struct {
	stages   []Stage // one without a duration is endless
	times    []time.Duration
	arrivals Arrivals
	seed     [2]uint64
	requests int64 // at most
	end      int64 // of times
}

func (o *Options) schedule(p phase) *schedule {
	s := &schedule{arrivals: o.Arrivals, seed: [2]uint64{o.Seed, 0}, requests: math.MaxInt64, end: math.MaxInt64}
	if p.requests > 0 {
		s.requests = p.requests
	}
	switch {
	case p.warmup:
		s.seed[1] = 1 // independent of the warm-up
		if o.Arrivals == ArrivalsTimes {
			s.arrivals = ArrivalsConstant
		}
		s.stages = []Stage{{o.warmupRate(), o.warmupRate(), p.duration}}
	case o.Arrivals == ArrivalsTimes:
		s.times = o.Times
		if p.duration > 0 {
			s.end = int64(p.duration)
		}
	case len(o.Stages) > 0:
		s.stages = slices.Clone(o.Stages)
	default:
		s.stages = []Stage{{o.Rate, o.Rate, p.duration}}
	}
	if s.arrivals == ArrivalsConstant && len(s.stages) == 1 && s.stages[0].From == s.stages[0].To && p.duration > 0 {
		s.requests = min(s.requests, requestsIn(p.duration, s.stages[0].From)) // exact in integers
		s.stages[0].Duration = 0
	}
	return s
}

func (o *Options) warmupRate() float64 {
	for _, s := range o.Stages {
		if s.requests() > 0 {
			return (s.From + s.To) / 2
		}
	}
	return o.Rate
}

// cursor returns a function that gives the nanoseconds to each request in order, and false at the
// end. Two cursors agree, so a backlog needs no memory.
func (s *schedule) cursor() func() (int64, bool) {
	var n, stage int64
	var level, before, offset float64 // requests so far and before this stage, and its start
	rnd := rand.New(rand.NewPCG(s.seed[0], s.seed[1]))
	return func() (int64, bool) {
		if n >= s.requests {
			return 0, false
		}
		n++
		if s.times != nil {
			if n > int64(len(s.times)) || int64(s.times[n-1]) >= s.end {
				return 0, false
			}
			return int64(s.times[n-1]), true
		}
		if s.arrivals == ArrivalsPoisson {
			level += rnd.ExpFloat64()
		} else {
			level = float64(n - 1)
		}
		for ; stage < int64(len(s.stages)); stage++ {
			g := s.stages[stage]
			if g.Duration == 0 || level-before < g.requests()-rounding {
				return int64(offset + g.at(level-before)), true
			}
			before += g.requests()
			offset += float64(g.Duration)
		}
		return 0, false
	}
}

func requestsIn(d time.Duration, rate float64) int64 {
	return max(1, int64(math.Ceil(float64(d)*rate/1e9-rounding)))
}

func (o *Options) normalArrivals() *evenkeel.OptionError {
	switch {
	case !arrivalsNames.Has(o.Arrivals):
		return optionError("Arrivals", "%d; it is ArrivalsConstant, ArrivalsPoisson or ArrivalsTimes", int(o.Arrivals))
	case o.Arrivals == ArrivalsTimes && len(o.Times) == 0:
		return optionError("Times", "none; ArrivalsTimes needs the times at which requests are due")
	case o.Arrivals == ArrivalsPoisson && len(o.Times) > 0:
		return optionError("Times", "they say when requests are due, as ArrivalsPoisson does; leave one out")
	case len(o.Times) > 0 && len(o.Stages) > 0:
		return optionError("Times", "they say when requests are due, as Stages do; leave one out")
	case o.Rate > 0 && len(o.Times)+len(o.Stages) > 0:
		return optionError("Rate", "Stages and Times have rates of their own; leave it out")
	case len(o.Times) > maxTimes:
		return optionError("Times", "%d; at most %d", len(o.Times), maxTimes)
	case len(o.Stages) > maxStages:
		return optionError("Stages", "%d; at most %d", len(o.Stages), maxStages)
	case len(o.Stages) > 0 && o.Duration > 0:
		return optionError("Duration", "the Stages have durations of their own; leave it out")
	case o.Arrivals == ArrivalsPoisson && !o.Open():
		return optionError("Arrivals", "a closed loop has none; give a Rate or Stages, too")
	}
	if len(o.Times) > 0 {
		return o.normalTimes()
	}
	total := 0.0
	for i, s := range o.Stages {
		name := fmt.Sprintf("Stages[%d]", i)
		for _, rate := range []float64{s.From, s.To} {
			if !(rate >= 0 && rate <= MaxRate) { // NaN too
				return optionError(name, "%v requests/s; it goes from 0 to %v", rate, MaxRate)
			}
		}
		if s.Duration <= 0 || s.Duration > maxDuration-o.Duration {
			return optionError(name, "a duration of %v; it is positive, and all of them are at most %v", s.Duration,
				maxDuration)
		}
		o.Duration += s.Duration
		total += s.requests()
	}
	if len(o.Stages) > 0 {
		if o.Rate = total / o.Duration.Seconds(); o.Rate < MinRate {
			return optionError("Stages", "%v requests/s on average; at least %v", o.Rate, MinRate)
		}
	}
	if o.Arrivals == ArrivalsPoisson && o.Seed == 0 {
		o.Seed = rand.Uint64N(1<<53-1) + 1 // exact in JSON readers
	}
	return nil
}

func (o *Options) normalTimes() *evenkeel.OptionError {
	o.Arrivals = ArrivalsTimes
	last := o.Times[len(o.Times)-1]
	if o.Times[0] < 0 || last > maxDuration || !slices.IsSorted(o.Times) {
		return optionError("Times", "they are not in order from 0 to %v; sort them, and count from the first",
			maxDuration)
	}
	if o.Duration == 0 {
		o.Duration = last + 1
	}
	o.Rate = min(MaxRate, max(MinRate, float64(len(o.Times))/max(last, 1).Seconds()))
	return nil
}
