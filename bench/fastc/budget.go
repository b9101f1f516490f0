//go:build cgo && unix

package main

import (
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"evenkeel.dev/bench/fastc/sig"
	"evenkeel.dev/bench/figure"
	"evenkeel.dev/fastc"
)

const (
	budget   = 200e3 // ns, of sig.MeasuredSpin
	overlong = 1e6   // ns, what its calls take here
	stopping = "/sched/pauses/stopping/gc:seconds"
)

// budget measures how long the collector waits for calls of a millisecond: through a Site once it
// has switched, by ordinary cgo, and without a budget.
func (b *bench) budget() error {
	if err := b.rare(); err != nil {
		return err
	}
	// The Site switches first; its state is the process's.
	b.stops(time.Second, sig.MeasuredSpin)
	before := sig.MeasuredSpinSite.Stats()
	if !before.Diverted {
		return fmt.Errorf("the Site did not switch: %+v", before)
	}
	b.set.Raw["site_at_switch"] = before
	p99 := map[string][]float64{}
	for range b.rounds / 2 {
		for _, w := range []struct {
			name string
			spin func(int64) int64
		}{{"cgo", sig.SlowSpin}, {"Site", sig.MeasuredSpin}, {"fast, no budget", sig.Spin}} {
			if err := b.ctx.Err(); err != nil {
				return err
			}
			p99[w.name] = append(p99[w.name], b.stops(b.length/4, w.spin))
		}
	}
	b.set.Raw["stopping_p99_ns"] = p99
	b.budgetFigures(p99)
	return nil
}

// budgetFigures has the 99th percentiles of how long a stop took, by the way of the calls, of each round.
func (b *bench) budgetFigures(p99 map[string][]float64) {
	if len(p99) == 0 {
		return
	}
	beyond := make([]float64, len(p99["Site"]))
	for i := range beyond {
		beyond[i] = (p99["Site"][i] - p99["cgo"][i]) / 1e3
	}
	for _, name := range []string{"cgo", "Site", "fast, no budget"} {
		fmt.Printf("  calls of 1 ms, %-16s p99 of %s: %.0f µs\n", name, stopping, figure.Median(p99[name])/1e3)
	}
	b.set.AtMost("budget: stopping p99 after the switch, less cgo's", beyond, budget/1e3, " µs")
}

// rare measures how long a function of calls of next to nothing is in use until it is diverted because one
// in so many takes 5 ms, and that it is not without those. Each run has a Site of its own.
func (b *bench) rare() error {
	const long, within, most = int64(5e6), 100_000_000, 20 * time.Second
	for _, oneIn := range rareOnes {
		var seconds []float64
		for range b.rounds {
			s, start := fastc.MustSite(sig.SpinCode, "spin", fastc.Options{Hold: fastc.HoldForever, Logger: slog.New(slog.DiscardHandler)}), time.Now()
			for i := 1; !s.Stats().Diverted && time.Since(start) < most; i++ {
				if err := b.ctx.Err(); err != nil {
					return err
				}
				for range oneIn - 1 {
					none := int64(0)
					s.Call(unsafe.Pointer(&none))
				}
				ns := long
				s.Call(unsafe.Pointer(&ns))
			}
			seconds = append(seconds, time.Since(start).Seconds())
		}
		b.set.Raw[divertedKey(oneIn)] = seconds
		b.rareFigure(oneIn, seconds)
	}
	s := fastc.MustSite(sig.SpinCode, "spin", fastc.Options{})
	for range within {
		none := int64(0)
		s.Call(unsafe.Pointer(&none))
	}
	b.set.Raw["site_within_budget"] = s.Stats()
	b.withinFigure(s.Stats())
	return nil
}

// rareOnes are of how many calls one is long.
var rareOnes = []int{100, 1000}

func divertedKey(oneIn int) string { return fmt.Sprintf("diverted_after_s_one_in_%d", oneIn) }

// rareFigure holds the slowest diversion: each run is a chance to be slow.
func (b *bench) rareFigure(oneIn int, seconds []float64) {
	if len(seconds) > 0 {
		b.set.AtMost(fmt.Sprintf("budget: one call in %d takes 5 ms: diverted, slowest", oneIn), []float64{slices.Max(seconds)}, 1, " s")
	}
}

func (b *bench) withinFigure(s fastc.Stats) {
	b.set.AtMost("budget: diversions in 10^8 calls within it", []float64{float64(s.Diversions)}, 0, "")
}

// stops lets two goroutines compute in C while the collector runs again and again, and returns
// the 99th percentile of the time that it took to stop them, in ns.
func (b *bench) stops(length time.Duration, spin func(int64) int64) float64 {
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for !done.Load() {
				spin(overlong)
				runtime.Gosched()
			}
		})
	}
	before := histogram()
	for end := time.Now().Add(length); time.Now().Before(end); {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	after := histogram()
	done.Store(true)
	wg.Wait()
	return quantile(before, after, .99) * 1e9
}

func histogram() *metrics.Float64Histogram {
	s := []metrics.Sample{{Name: stopping}}
	metrics.Read(s)
	return s[0].Value.Float64Histogram()
}

// quantile returns the upper edge of the bucket that holds it, of what came between two readings.
func quantile(before, after *metrics.Float64Histogram, q float64) float64 {
	total := uint64(0)
	for i := range after.Counts {
		total += after.Counts[i] - before.Counts[i]
	}
	rank, seen := uint64(math.Ceil(q*float64(total))), uint64(0)
	for i := range after.Counts {
		if seen += after.Counts[i] - before.Counts[i]; seen >= rank && total > 0 {
			return after.Buckets[i+1]
		}
	}
	return 0
}
