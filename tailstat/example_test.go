package tailstat_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"evenkeel.dev/tailstat"
)

// latencies are those of all requests, in increasing order. Who has many takes a *loadgen.Histogram.
type latencies []time.Duration

func (l latencies) Count() int64                     { return int64(len(l)) }
func (l latencies) Quantile(q float64) time.Duration { return l[int(q*float64(len(l)-1))] }

func (l latencies) All() iter.Seq2[time.Duration, int64] {
	return func(yield func(time.Duration, int64) bool) {
		for _, d := range l {
			if !yield(d, 1) {
				return
			}
		}
	}
}

// measure stands for a run of a service: its slowest requests take as long as the collector, give or take a tenth.
func measure(rng *rand.Rand, round int, collector time.Duration) tailstat.Run {
	var l latencies
	run := .9 + .2*rng.Float64()
	for i := range 10_000 {
		d := time.Millisecond
		if i%50 == 0 {
			d += time.Duration(run * float64(collector))
		}
		l = append(l, d)
	}
	slices.Sort(l)
	return tailstat.Run{Round: round, Latency: l}
}

// Eight rounds of a service whose collector has become slower by a half.
func Example() {
	rng := rand.New(rand.NewPCG(1, 2))
	var base, head []tailstat.Run
	for round := 1; round <= 8; round++ {
		base = append(base, measure(rng, round, 20*time.Millisecond))
		head = append(head, measure(rng, round, 30*time.Millisecond))
	}
	c, err := tailstat.Compare(base, head, tailstat.Options{
		Figures: []tailstat.Figure{tailstat.Quantile(.5), tailstat.Quantile(.99)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range c.Result {
		fmt.Printf("%s: %.1f ms to %.1f ms: %s\n", r.Figure, 1e3*r.Base, 1e3*r.Head, r.Verdict)
	}
	// Output:
	// p50: 1.0 ms to 1.0 ms: inconclusive
	// p99: 21.7 ms to 30.7 ms: slower
}
