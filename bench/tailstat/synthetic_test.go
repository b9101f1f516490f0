//go:build linux

package tailstat

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

var full = harness.TestFlags()

// TestSynthetic runs the cases of services whose truth is known, with a few trials or in full.
func TestSynthetic(t *testing.T) { full.Run(t, coverageCase(), sequentialCase()) }

// service is a synthetic service: requests come at random, wait for each other, and for what stops
// the service. Its runs are short pieces of it, whose requests are as dependent on each other as
// those of real ones.
type service struct {
	name string
	rate float64 // of requests, 1/s
	work float64 // of a request, in seconds on average

	fixed      bool    // work does not vary; else its distribution is exponential
	every      float64 // seconds between stops, 0: none
	chance     bool    // stops come at random, not regularly
	stop       float64 // how long a stop lasts, in seconds: its median
	spread     float64 // standard deviation of the logarithm of that
	burst      float64 // in bursts, requests come so many times as fast, 0: there are none
	burstEvery float64 // seconds from one to the next on average; one lasts a tenth of that
}

// pair is a service, and what is compared with it.
type pair struct{ base, head service }

// pairs are services as base, with what is changed in head.
var pairs = []pair{
	{
		service{name: "queue", rate: 2000, work: 300e-6},
		service{rate: 2000, work: 320e-6},
	},
	{
		service{name: "collections", rate: 2000, work: 100e-6, every: .4, stop: .008, spread: .2},
		service{rate: 2000, work: 100e-6, every: .4, stop: .010, spread: .2},
	},
	{
		service{name: "stalls", rate: 2000, work: 100e-6, fixed: true, every: .25, chance: true, stop: .004, spread: 1},
		service{rate: 2000, work: 115e-6, fixed: true, every: .25, chance: true, stop: .004, spread: 1},
	},
	{
		service{name: "bursts", rate: 1500, work: 200e-6, burst: 3, burstEvery: .2},
		service{rate: 1500, work: 215e-6, burst: 3, burstEvery: .2},
	},
}

// run lets the service go on for so many requests, after as many to warm up as a second has, and
// counts their latencies, each times slower.
func (s *service) run(rng *rand.Rand, requests int, slower float64) *loadgen.Histogram {
	h := new(loadgen.Histogram)
	now, free := 0.0, 0.0
	stopAt := s.every * rng.Float64()
	burst, turn := false, 0.0
	if s.every == 0 {
		stopAt = math.Inf(1)
	}
	for i := -int(s.rate); i < requests; i++ {
		rate := s.rate
		if s.burst > 0 {
			for now >= turn {
				burst = !burst
				mean := .9 * s.burstEvery
				if burst {
					mean = .1 * s.burstEvery
				}
				turn += mean * rng.ExpFloat64()
			}
			if burst {
				rate *= s.burst
			}
		}
		now += rng.ExpFloat64() / rate
		for now >= stopAt {
			free = max(free, stopAt) + s.stop*math.Exp(s.spread*rng.NormFloat64())
			next := s.every
			if s.chance {
				next *= rng.ExpFloat64()
			}
			stopAt += next
		}
		work := s.work
		if !s.fixed {
			work *= rng.ExpFloat64()
		}
		free = max(free, now) + work
		if i >= 0 {
			h.Record(time.Duration(slower * (free - now) * 1e9))
		}
	}
	return h
}

// truth returns a figure of the service itself, from a run as long as a thousand others.
func (s *service) truth(f tailstat.Figure, long *loadgen.Histogram) float64 {
	if s.name == "queue" { // M/M/1: the time in the system is exponential
		rest := 1 / (1/s.work - s.rate)
		switch f.Name {
		case "p50":
			return rest * math.Log(2)
		case "p90":
			return rest * math.Log(10)
		case "p99":
			return rest * math.Log(100)
		case "p99.9":
			return rest * math.Log(1000)
		case "slowest 1%":
			return rest * (math.Log(100) + 1)
		case "slowest 0.1%":
			return rest * (math.Log(1000) + 1)
		}
	}
	x, err := f.Of(&tailstat.Run{Latency: long})
	if err != nil {
		panic(err) // it has millions of requests
	}
	return x
}

// tails are the figures that a histogram has.
func tails() []tailstat.Figure { return tailstat.Figures()[:6] }

// weather is what a machine does to the runs on it: rounds have good and bad times in common, which
// go on for a while, and each run has its own.
type weather struct{ now float64 }

const (
	inCommon = .3 // standard deviations of logarithms
	ofOne    = .05
	memory   = .8 // of what a round has of the one before
)

func (w *weather) round(rng *rand.Rand) {
	w.now = memory*w.now + inCommon*math.Sqrt(1-memory*memory)*rng.NormFloat64()
}

func (w *weather) slower(rng *rand.Rand) float64 { return math.Exp(w.now + ofOne*rng.NormFloat64()) }

const requestsRun = 12_000

// sampleRounds returns rounds of base and head, with what the machine does to both.
func sampleRounds(rng *rand.Rand, base, head *service, rounds int) (b, h []tailstat.Run) {
	var w weather
	for i := range rounds {
		w.round(rng)
		b = append(b, tailstat.Run{Round: i + 1, Latency: base.run(rng, requestsRun, w.slower(rng))})
		h = append(h, tailstat.Run{Round: i + 1, Latency: head.run(rng, requestsRun, w.slower(rng))})
	}
	return b, h
}

const (
	paired = "rounds"
	loose  = "no rounds"
)

// coverageCase counts how often intervals hold the truth, of services whose truth is known.
func coverageCase() harness.Case {
	truths := map[string]map[string]float64{} // by service and figure
	c := harness.Case{
		Name: "tailstat/coverage", What: "synthetic services: how often an interval of 95% holds the truth",
		Loads: []string{paired, loose}, Figures: []string{"trials"},
		Open: func(context.Context, *harness.Run) (func(), error) { return func() { clear(truths) }, nil },
	}
	for _, p := range pairs {
		c.Ways = append(c.Ways, p.base.name)
		for _, load := range c.Loads {
			for _, f := range tails() {
				c.Claims = append(c.Claims, harness.Claim{
					Way: p.base.name, Load: load, Figure: f.Name, Of: "trials", Target: harness.Between(93, 97),
				})
			}
		}
	}
	for _, f := range tails() {
		c.Figures = append(c.Figures, f.Name)
	}
	c.Run = func(ctx context.Context, r *harness.Run) error {
		p := pairOf(r.Way)
		if truths[r.Way] == nil {
			truths[r.Way] = p.truths(harness.Unless(r, 1000, 10))
		}
		return trials(ctx, r, func(rng *rand.Rand, count func(figure string)) error {
			b, h := sampleRounds(rng, &p.base, &p.head, rounds)
			if r.Load == loose {
				b, h = sampleLoose(rng, &p.base, &p.head)
			}
			for _, f := range tails() { // each for itself, so that it is not corrected for the others
				c, err := tailstat.Compare(b, h, tailstat.Options{Figures: []tailstat.Figure{f}})
				if err != nil {
					return err
				}
				if c.Result[0].Within.Contains(truths[r.Way][f.Name]) {
					count(f.Name)
				}
			}
			return nil
		})
	}
	return c
}

func pairOf(name string) *pair {
	for i := range pairs {
		if pairs[i].base.name == name {
			return &pairs[i]
		}
	}
	panic("there is no service " + name)
}

// truths returns the ratios of a pair's figures, from runs as long as so many others.
func (p *pair) truths(times int) map[string]float64 {
	all := map[string]float64{}
	var long [2]loadgen.Histogram
	for i, s := range []*service{&p.base, &p.head} {
		long[i].Merge(s.run(rand.New(rand.NewPCG(1, uint64(i))), times*requestsRun, 1))
	}
	p.head.name = p.base.name
	for _, f := range tails() {
		all[f.Name] = p.head.truth(f, &long[1]) / p.base.truth(f, &long[0])
	}
	return all
}

// sampleLoose returns runs of base and of head that have nothing in common.
func sampleLoose(rng *rand.Rand, base, head *service) (b, h []tailstat.Run) {
	var w weather
	for range rounds {
		b = append(b, tailstat.Run{Latency: base.run(rng, requestsRun, w.slower(rng))})
		h = append(h, tailstat.Run{Latency: head.run(rng, requestsRun, w.slower(rng))})
	}
	return b, h
}

// sequentialCase looks after each round, as evenkeel run -until does, and counts how often any look
// finds a difference of a service to itself, and to another.
func sequentialCase() harness.Case {
	const itself, changed = "itself", "changed"
	const most = 30
	c := harness.Case{
		Name:  "tailstat/sequential",
		What:  "synthetic services: how often a look after each of 30 rounds finds a difference",
		Loads: []string{itself, changed}, Figures: []string{"found", "trials", "after rounds"},
		Claims: []harness.Claim{{Load: itself, Figure: "found", Of: "trials", Target: harness.AtMost(5)}},
	}
	for _, p := range pairs {
		c.Ways = append(c.Ways, p.base.name)
		c.Claims = append(c.Claims, harness.Claim{
			Way: p.base.name, Load: itself, Figure: "found", Of: "trials", Target: harness.AtMost(5),
		})
	}
	c.Run = func(ctx context.Context, r *harness.Run) error {
		p := pairOf(r.Way)
		head := &p.base
		if r.Load == changed {
			head = &p.head
		}
		err := trials(ctx, r, func(rng *rand.Rand, count func(string)) error {
			b, h := sampleRounds(rng, &p.base, head, most)
			for n := 2; n <= most; n++ {
				o := tailstat.Options{Figures: []tailstat.Figure{tailstat.Quantile(.99)}, Rounds: most}
				c, err := tailstat.Compare(b[:n], h[:n], o)
				if err != nil {
					return err
				}
				if c.Result[0].Verdict != tailstat.VerdictInconclusive {
					count("found")
					break
				}
				count("looks")
			}
			return nil
		})
		// The first look is after two rounds. One that finds something is not counted among the
		// looks.
		r.Set("after rounds", 1+(r.Values["looks"]+r.Values["found"])/r.Values["trials"])
		r.Set("found", r.Values["found"])
		return err
	}
	return c
}

// TestTruth holds the simulated queue against what is known of one.
func TestTruth(t *testing.T) {
	s := pairs[0].base
	h := s.run(rand.New(rand.NewPCG(1, 1)), 400_000, 1)
	for _, f := range tails() {
		got, err := f.Of(&tailstat.Run{Latency: h})
		if want := s.truth(f, nil); err != nil || math.Abs(got/want-1) > .12 {
			t.Errorf("%s: %v, %v, want %v", f.Name, got, err, want)
		}
	}
}
