package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

// service is a synthetic service: requests come at random, wait for each other, and for what stops the service. Its
// runs are short pieces of it, whose requests are as dependent on each other as those of real ones.
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

// pairs are services as base, with what is changed in head.
var pairs = []struct{ base, head service }{
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

// run lets the service go on for so many requests, after as many to warm up as a second has, and counts their latencies,
// each times slower.
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

// weather is what a machine does to the runs on it: rounds have good and bad times in common, which go on for a while,
// and each run has its own.
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

const (
	rounds      = 10
	requestsRun = 12_000
)

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

// synthetic counts how often intervals hold the truth.
func (d *driver) synthetic(ctx context.Context) error {
	var all []coverage
	for _, p := range pairs {
		p.head.name = p.base.name
		c, err := d.coverage(ctx, &p.base, &p.head)
		if err != nil {
			return err
		}
		all = append(all, c...)
	}
	d.found.Coverage = all
	return nil
}

func (d *driver) coverage(ctx context.Context, base, head *service) ([]coverage, error) {
	long := [2]*loadgen.Histogram{}
	var wg sync.WaitGroup
	for i, s := range []*service{base, head} {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			long[i] = new(loadgen.Histogram)
			for n := 0; n < 1000 && ctx.Err() == nil; n++ {
				long[i].Merge(s.run(rng, requestsRun, 1))
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var all []coverage
	truths := map[string]float64{}
	for _, f := range tails() {
		truths[f.Name] = head.truth(f, long[1]) / base.truth(f, long[0])
		for _, paired := range []bool{true, false} {
			all = append(all, coverage{Service: base.name, Figure: f.Name, Paired: paired, Trials: d.trials, Truth: truths[f.Name]})
		}
	}
	var mu sync.Mutex
	err := inParallel(ctx, d.trials, func(trial int) error {
		rng := rand.New(rand.NewPCG(15, uint64(trial)))
		for _, paired := range []bool{true, false} {
			b, h := sampleRounds(rng, base, head, rounds)
			if !paired {
				b, h = sampleLoose(rng, base, head)
			}
			results, err := each(b, h)
			if err != nil {
				return err
			}
			mu.Lock()
			for i := range all {
				c := &all[i]
				r := results[c.Figure]
				if c.Paired != paired {
					continue
				}
				if r.Within.Contains(c.Truth) {
					c.Held++
				}
				if r.Verdict != tailstat.VerdictCannotTell {
					c.Found++
				}
			}
			mu.Unlock()
		}
		return nil
	})
	for i := range all {
		c := &all[i]
		c.Share = percent(c.Held, c.Trials)
		fmt.Fprintf(d.out, "  %-12s %-13s paired %-5v  truth %.3f  held by %5.1f%% of %d  difference found in %3.0f%%\n",
			c.Service, c.Figure, c.Paired, c.Truth, c.Share, c.Trials, percent(c.Found, c.Trials))
	}
	return all, err
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

// each compares each figure for itself, so that one of them is not corrected for the others.
func each(b, h []tailstat.Run) (map[string]tailstat.Result, error) {
	all := map[string]tailstat.Result{}
	for _, f := range tails() {
		c, err := tailstat.Compare(b, h, tailstat.Options{Figures: []tailstat.Figure{f}})
		if err != nil {
			return nil, err
		}
		all[f.Name] = c.Result[0]
	}
	return all, nil
}

// inParallel calls f for 0 to n-1 on all processors, until one fails or ctx ends.
func inParallel(ctx context.Context, n int, f func(i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				if err := f(i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		next <- i
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

// sequential goes on with a service and itself, looks after each round as evenkeel run -until does, and counts how
// often any look finds a difference; and how many rounds it takes where there is one.
func (d *driver) sequential(ctx context.Context) error {
	const most = 30
	f := tailstat.Quantile(.99)
	for _, p := range pairs {
		p.head.name = p.base.name
		for _, planted := range []bool{false, true} {
			head := &p.base
			if planted {
				head = &p.head
			}
			l := looks{Service: p.base.name, Planted: planted, Trials: d.trials}
			var mu sync.Mutex
			err := inParallel(ctx, d.trials, func(trial int) error {
				rng := rand.New(rand.NewPCG(16, uint64(trial)))
				b, h := sampleRounds(rng, &p.base, head, most)
				n := 2
				for ; n <= most; n++ {
					c, err := tailstat.Compare(b[:n], h[:n], tailstat.Options{Figures: []tailstat.Figure{f}, Rounds: most})
					if err != nil {
						return err
					}
					if c.Result[0].Verdict != tailstat.VerdictCannotTell {
						break
					}
				}
				mu.Lock()
				defer mu.Unlock()
				l.Rounds += float64(min(n, most)) / float64(d.trials)
				if n <= most {
					l.Found++
				}
				return nil
			})
			if err != nil {
				return err
			}
			l.Share = percent(l.Found, l.Trials)
			fmt.Fprintf(d.out, "  %-12s planted %-5v found in %.1f%%, after %.1f rounds on average of %d\n", l.Service, planted, l.Share, l.Rounds, most)
			d.found.Sequential = append(d.found.Sequential, l)
		}
	}
	return nil
}
