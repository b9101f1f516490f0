package loadgen

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"evenkeel.dev"
)

// Where a step knows, the answer is within 5% and takes at most 12 steps, from any start.
func TestSearchBisects(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 0))
	for range 5000 {
		capacity := math.Exp(rnd.Float64()*math.Log(1e6) - 2) // 0.14 to 135,000
		start := max(MinRate, min(MaxRate, capacity*math.Exp((rnd.Float64()*2-1)*math.Log(4000))))
		f, err := RateSearch{Start: start}.Run(t.Context(), func(_ context.Context, rate float64) (Verdict, error) {
			if rate <= capacity {
				return VerdictHolds, nil
			}
			return VerdictFails, nil
		})
		if err != nil || !f.Within || f.Rate > capacity || f.Fails < capacity || f.Rate < capacity/1.05 ||
			len(f.Steps) > 12 || f.Unknown != 0 {
			t.Fatalf("capacity %v, start %v: %+v, %v", capacity, start, f, err)
		}
	}
}

// queue is M/M/1: requests at random, served one after the other. Its p99 is computed:
// the time in it is exponential with the rate service - arrivals.
type queue struct {
	service float64 // requests per second
	rnd     *rand.Rand
}

func (q *queue) quantile(p, rate float64) float64 {
	if rate >= q.service {
		return math.Inf(1)
	}
	return -math.Log(1-p) / (q.service - rate)
}

// capacity is the rate at which the p-quantile is limit seconds.
func (q *queue) capacity(p, limit float64) float64 { return q.service + math.Log(1-p)/limit }

// below simulates n requests and reports whether their p-quantile is below limit seconds, by Lindley's recursion.
func (q *queue) below(p, limit, rate float64, n int) bool {
	above, wait := 0, 0.0
	for range n {
		took := wait + q.rnd.ExpFloat64()/q.service
		if took > limit {
			above++
		}
		wait = max(0, took-q.rnd.ExpFloat64()/rate)
	}
	return float64(above) < (1-p)*float64(n)
}

// A step that measures: seven stretches of a simulated queue. All of them below the limit, or all
// above it, is a verdict (one side of a sign test at 1/128), else it is inconclusive.
func TestSearchQueue(t *testing.T) {
	const limit, p = .02, .99
	for seed, service := range []float64{1000, 5000, 30000} {
		q := &queue{service, rand.New(rand.NewPCG(uint64(seed), 1))}
		want := q.capacity(p, limit)
		if got := q.quantile(p, want); math.Abs(got-limit) > 1e-9 {
			t.Fatalf("p99 at %v is %v", want, got)
		}
		f, err := RateSearch{Start: 100}.Run(t.Context(), func(_ context.Context, rate float64) (Verdict, error) {
			below := 0
			for range 7 {
				if q.below(p, limit, rate, 20_000) {
					below++
				}
			}
			switch below {
			case 7:
				return VerdictHolds, nil
			case 0:
				return VerdictFails, nil
			}
			return VerdictUnknown, nil
		})
		if err != nil || len(f.Steps) > 12 || math.Abs(f.Rate/want-1) > .05 {
			t.Errorf("service at %v/s: found %v/s, computed %v/s: %+v, %v", service, f.Rate, want, f, err)
		}
	}
}

func TestSearchEnds(t *testing.T) {
	always := func(v Verdict) func(context.Context, float64) (Verdict, error) {
		return func(context.Context, float64) (Verdict, error) { return v, nil }
	}
	odd := errors.New("odd")
	ctx, cancel := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		s          RateSearch
		step       func(context.Context, float64) (Verdict, error)
		rate, fail float64
		unknown    float64
		steps      int
		err        error
	}{
		"all hold":     {RateSearch{Start: 10, Highest: 1000}, always(VerdictHolds), 1000, 0, 0, 5, nil},
		"none holds":   {RateSearch{Start: 10, Lowest: 1}, always(VerdictFails), 0, 1, 0, 4, nil},
		"inconclusive": {RateSearch{Start: 10, Lowest: 1}, always(VerdictUnknown), 0, 0, 1, 4, nil},
		"few steps":    {RateSearch{Start: 100, MaxSteps: 3}, always(VerdictHolds), 800, 0, 0, 3, nil},
		"a step's fail": {
			RateSearch{},
			func(context.Context, float64) (Verdict, error) { return 0, odd }, 0, 0, 0, 0,
			odd,
		},
		"interrupted": {RateSearch{}, func(_ context.Context, rate float64) (Verdict, error) {
			cancel()
			return VerdictHolds, nil
		}, 100, 0, 0, 1, context.Canceled},
	} {
		on := t.Context()
		if name == "interrupted" {
			on = ctx
		}
		f, err := c.s.Run(on, c.step)
		if !errors.Is(err, c.err) || f.Rate != c.rate || f.Fails != c.fail || f.Unknown != c.unknown ||
			len(f.Steps) != c.steps || f.Within {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	// What cannot be told bounds the result, and what fails above it is told, too.
	f, err := RateSearch{Start: 800}.Run(t.Context(), func(_ context.Context, rate float64) (Verdict, error) {
		switch {
		case rate < 1000:
			return VerdictHolds, nil
		case rate < 1200:
			return VerdictUnknown, nil
		}
		return VerdictFails, nil
	})
	if err != nil || f.Rate < 950 || f.Unknown < 1000 || f.Unknown > 1050 || f.Fails < 1200 || !f.Within {
		t.Errorf("%+v, %v", f, err)
	}
	for option, s := range map[string]RateSearch{
		"Start": {Start: -1}, "Start ": {Start: 5, Lowest: 6}, "Lowest": {Lowest: 2e6},
		"Highest":   {Highest: math.NaN()},
		"Tolerance": {Tolerance: 2}, "MaxSteps": {MaxSteps: -1},
	} {
		_, err := s.Run(t.Context(), always(VerdictHolds))
		var oe *evenkeel.OptionError
		if !errors.As(err, &oe) || oe.Option != option && oe.Option+" " != option {
			t.Errorf("%s: %v", option, err)
		}
	}
}
