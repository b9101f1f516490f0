//go:build cgo && unix

package main

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"evenkeel.dev/bench/fastc/sig"
	"evenkeel.dev/bench/figure"
)

// calls measures nanoseconds a call, each way of each signature once a round.
func (b *bench) calls() error {
	const turn = 20 * time.Millisecond // of a way in a round
	ns := map[string]map[string][]float64{}
	for round := range b.rounds + 1 {
		for _, s := range sig.Signatures {
			for i := range ways { // no way is always first
				w := ways[(i+round)%len(ways)]
				loop := w.loop(s)
				if loop == nil {
					continue
				}
				if err := b.ctx.Err(); err != nil {
					return err
				}
				if round == 0 { // nothing is warm
					loop(1000)
					continue
				}
				if ns[s.Name] == nil {
					ns[s.Name] = map[string][]float64{}
				}
				ns[s.Name][w.name] = append(ns[s.Name][w.name], perCall(loop, turn))
			}
		}
	}
	b.set.Raw["ns_a_call"] = ns
	allocs := 0.0
	for _, s := range sig.Signatures {
		for _, loop := range []func(int) float64{s.Fast, s.Measured} {
			allocs = max(allocs, testing.AllocsPerRun(100, func() { loop(10) }))
		}
	}
	b.set.Raw["wrapper_allocations"] = allocs
	b.callFigures(ns, &allocs)
	return nil
}

// callFigures has nanoseconds a call, by signature and way, of each round; allocs is nil where they were not counted.
func (b *bench) callFigures(ns map[string]map[string][]float64, allocs *float64) {
	heads, rows := []string{"ns a call"}, [][]string(nil)
	for _, w := range ways {
		heads = append(heads, w.name)
	}
	for _, s := range sig.Signatures {
		row := []string{s.Name}
		for _, w := range ways {
			cell := "-"
			if xs := ns[s.Name][w.name]; xs != nil {
				cell = fmt.Sprintf("%.1f [%.1f..%.1f]", figure.Median(xs), slices.Min(xs), slices.Max(xs))
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	table(heads, rows)
	b.callRatios(ns)
	if allocs != nil {
		b.set.AtMost("generated wrapper, allocations", []float64{*allocs}, 0, "")
	}
}

// perCall runs loop for about that time.
func perCall(loop func(int) float64, turn time.Duration) float64 {
	n := 1000
	for {
		start := time.Now()
		loop(n)
		took := time.Since(start)
		if took >= turn/2 {
			return float64(took) / float64(n)
		}
		n = int(float64(n) * min(100, 1.2*float64(turn)/float64(took+1)))
	}
}

func (b *bench) callRatios(ns map[string]map[string][]float64) {
	over := func(s string, a, b string) []float64 { return figure.Ratios(ns[s][a], ns[s][b]) }
	worse := func(xs, than []float64) []float64 {
		if than == nil || figure.Median(xs) > figure.Median(than) {
			return xs
		}
		return than
	}
	var mean, techniques, sites, purego []float64
	for _, s := range sig.Signatures {
		c, cgo, fast := ns[s.Name]["C"], ns[s.Name]["cgo"], ns[s.Name]["fast"]
		share := make([]float64, len(c))
		for i := range c {
			share[i] = (fast[i] - c[i]) / (cgo[i] - c[i])
		}
		b.set.AtMost(s.Name+": (fast - C) / (cgo - C)", share, .22, "")
		if mean == nil {
			mean = slices.Repeat([]float64{1}, len(fast))
		}
		for i, r := range over(s.Name, "cgo", "fast") {
			mean[i] *= math.Pow(r, 1/float64(len(sig.Signatures)))
		}
		if ns[s.Name]["purego"] != nil {
			purego = append(purego, figure.Median(over(s.Name, "purego", "fast")))
		}
		techniques = worse(over(s.Name, "fast", "fastcgo's technique"), techniques)
		sites = worse(over(s.Name, "Site", "fast"), sites)
	}
	b.set.AtLeast("cgo / fast, geometric mean of the five", mean, 3.5, "x")
	b.set.AtLeast("purego / fast, median of the signatures", purego, 10, "x")
	b.set.AtMost("fast / fastcgo's technique, worst of the five", techniques, 2.5, "x")
	b.set.AtMost("sampled Site / plain fast, worst of the five", sites, 1.3, "x")
}
