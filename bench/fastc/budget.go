//go:build cgo && unix

package main

import (
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev/bench/fastc/sig"
	"evenkeel.dev/bench/figure"
)

const (
	budget   = 200e3 // ns, of sig.MeasuredSpin
	overlong = 1e6   // ns, what its calls take here
	stopping = "/sched/pauses/stopping/gc:seconds"
)

// budget measures how long the collector waits for calls of a millisecond: through a Site once it
// has switched, by ordinary cgo, and without a budget.
func (b *bench) budget() error {
	// The Site switches first; its state is the process's.
	b.stops(20*time.Millisecond, sig.MeasuredSpin)
	before := sig.MeasuredSpinSite.Stats()
	if !before.Diverted {
		return fmt.Errorf("the Site did not switch: %+v", before)
	}
	b.set.Raw["site_at_switch"] = before
	b.set.AtMost("budget: timed calls beyond it before the switch", []float64{float64(before.Over)}, 4, "")
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
	beyond := make([]float64, len(p99["Site"]))
	for i := range beyond {
		beyond[i] = (p99["Site"][i] - p99["cgo"][i]) / 1e3
	}
	for _, name := range []string{"cgo", "Site", "fast, no budget"} {
		fmt.Printf("  calls of 1 ms, %-16s p99 of %s: %.0f µs\n", name, stopping, figure.Median(p99[name])/1e3)
	}
	b.set.AtMost("budget: stopping p99 after the switch, less cgo's", beyond, budget/1e3, " µs")
	return nil
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
