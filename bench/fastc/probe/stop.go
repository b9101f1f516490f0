//go:build cgo && unix

// Command stops loops over leaf calls on all processors, and prints how long the collector and a
// timer waited at most. bench-fastc builds it with and without a profile, and runs it.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"evenkeel.dev/bench/fastc/sig"
	"evenkeel.dev/fastc"
)

// Waits are the longest, in ns.
type Waits struct {
	GC    int64   // of calls of runtime.GC
	Stop  float64 // of stops of the world by the collector, to their end: the upper edge of a bucket
	Timer int64   // of a timer of 10 ms, beyond the 10 ms

	Collections uint64
}

var enough atomic.Bool

// The loops of the three ways to call. No function stands between a loop and its call, but those that
// fastcgen wrote; hot.pgo names these lines.

func direct(ns int64) {
	for !enough.Load() {
		fastc.Call(sig.SpinCode, unsafe.Pointer(&ns))
	}
}

func generated(ns int64) {
	for !enough.Load() {
		sig.Spin(ns)
	}
}

func measured(ns int64) {
	for !enough.Load() {
		sig.MeasuredSpin(ns)
	}
}

// plain computes in Go, for comparison: what the machine and the scheduler do on their own.
func plain(ns int64) {
	for !enough.Load() {
		spinInGo(ns)
	}
}

//go:noinline
func spinInGo(ns int64) (turns int64) {
	for start := time.Now(); int64(time.Since(start)) < ns; turns++ {
	}
	return turns
}

func main() {
	log.SetFlags(0)
	way := flag.String("way", "direct", "direct, generated, measured or Go")
	call := flag.Duration("call", 10*time.Microsecond, "of C")
	length := flag.Duration("length", time.Second, "of the collections, and of the timer's run")
	flag.Parse()
	loop := map[string]func(int64){"direct": direct, "generated": generated, "measured": measured, "Go": plain}[*way]
	if loop == nil {
		log.Fatalf("stops: no way %q: direct, generated, measured or Go", *way)
	}
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() { loop(int64(*call)) })
	}
	w := collect(*length)
	w.Timer = timer(*length)
	enough.Store(true)
	wg.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(w); err != nil {
		log.Fatal(err)
	}
}

// collect collects again and again.
func collect(length time.Duration) (w Waits) {
	before := pauses()
	for began := time.Now(); time.Since(began) < length; w.Collections++ {
		start := time.Now()
		runtime.GC()
		w.GC = max(w.GC, int64(time.Since(start)))
	}
	after := pauses()
	for i := range after.Counts {
		if after.Counts[i] > before.Counts[i] {
			w.Stop = after.Buckets[i+1] * 1e9
		}
	}
	if math.IsInf(w.Stop, 1) {
		w.Stop = math.MaxInt64
	}
	return w
}

func pauses() *metrics.Float64Histogram {
	s := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(s)
	return s[0].Value.Float64Histogram()
}

// timer sleeps 10 ms again and again, and returns by how much it overslept at most.
func timer(length time.Duration) (latest int64) {
	const pause = 10 * time.Millisecond
	for began := time.Now(); time.Since(began) < length; {
		start := time.Now()
		time.Sleep(pause)
		latest = max(latest, int64(time.Since(start)-pause))
	}
	return latest
}
