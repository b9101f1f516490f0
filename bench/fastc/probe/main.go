//go:build cgo && linux

// Command probe measures calls of C by one way: what a call takes (calls), or how long the
// collector and a timer wait for loops of calls (stop). It prints values by figure in JSON.
package main

import (
	"debug/elf"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"evenkeel.dev/bench/fastc/sig"
	"evenkeel.dev/fastc"
)

type values map[string]float64

func main() {
	log.SetFlags(0)
	log.SetPrefix("probe: ")
	do := flag.String("do", "calls", "calls or stop")
	way := flag.String("way", "fastc", "`way` to call")
	call := flag.Duration("call", 10*time.Microsecond, "of stop: `time` of a call")
	warmup := flag.Duration("warmup", 0, "of stop: loops and collections before the measured time")
	length := flag.Duration("length", time.Second, "of stop: measured time; of calls: of each signature")
	flag.Parse()
	var v values
	var err error
	switch {
	case *do == "calls" && sig.Loops[*way][0] != nil:
		v = calls(*way, *length)
	case *do == "stop" && loops[*way] != nil:
		v, err = stop(*way, *call, *warmup, *length)
	default:
		log.Fatalf("there is no -way %q that can -do %q", *way, *do)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(v)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// calls measures the nanoseconds of each signature, and what they are beyond those from C.
func calls(way string, length time.Duration) values {
	v, product := values{}, 1.
	for i, name := range sig.Signatures {
		loop := sig.Loops[way][i]
		if loop == nil {
			continue
		}
		c, ns := perCall(sig.Loops["C"][i], length/2), perCall(loop, length/2)
		v[name], v[name+", added"] = ns, ns-c
		product *= ns
	}
	v["mean"] = math.Pow(product, 2/float64(len(v)))
	return v
}

func perCall(loop func(int) float64, turn time.Duration) float64 {
	for n := 1000; ; {
		start := time.Now()
		loop(n)
		took := time.Since(start)
		if took >= turn/2 {
			return float64(took) / float64(n)
		}
		n = int(float64(n) * min(100, 1.2*float64(turn)/float64(took+1)))
	}
}

var enough atomic.Bool

// default.pgo names the calls in generated and measured by their lines. With it the compiler
// inlines fastcgen's functions, and no preemption point is left in these loops.

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

func slow(ns int64) {
	for !enough.Load() {
		sig.SlowSpin(ns)
	}
}

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

var loops = map[string]func(int64){
	"Go": plain, "cgo": slow, "fastc.Call": direct, "fastc": generated, "fastc with a budget": measured,
}

// A Site diverts its function in the warm-up.
func stop(way string, call, warmup, length time.Duration) (values, error) {
	if err := inlined(); err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() { loops[way](int64(call)) })
	}
	collect(warmup)
	before := pauses()
	longest := collect(length)
	after := pauses()
	v := values{
		"longest GC()": longest.Seconds() * 1e3,
		"longest stop": quantile(before[0], after[0], 1) * 1e3,
		"p99 to stop":  quantile(before[1], after[1], .99) * 1e3,
		"timer late":   timer(length).Seconds() * 1e3,
	}
	enough.Store(true)
	wg.Wait()
	return v, nil
}

// inlined returns an error if a loop has a preemption point.
func inlined() error {
	f, err := elf.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	for _, name := range []string{"Spin", "MeasuredSpin"} {
		symbol := "evenkeel.dev/bench/fastc/sig." + name
		if slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == symbol }) {
			return fmt.Errorf("sig.%s is not inlined; probe/default.pgo has to name the lines of the calls", name)
		}
	}
	return err
}

func collect(length time.Duration) (longest time.Duration) {
	for began := time.Now(); time.Since(began) < length; {
		start := time.Now()
		runtime.GC()
		longest = max(longest, time.Since(start))
	}
	return longest
}

// pauses returns the runtime's histograms of the collector's stops, whole and until all goroutines
// stop.
func pauses() (h [2]*metrics.Float64Histogram) {
	s := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}, {Name: "/sched/pauses/stopping/gc:seconds"}}
	metrics.Read(s)
	return [2]*metrics.Float64Histogram{s[0].Value.Float64Histogram(), s[1].Value.Float64Histogram()}
}

func quantile(before, after *metrics.Float64Histogram, q float64) float64 {
	total := uint64(0)
	for i := range after.Counts {
		total += after.Counts[i] - before.Counts[i]
	}
	rank, seen := uint64(math.Ceil(q*float64(total))), uint64(0)
	for i := range after.Counts {
		if seen += after.Counts[i] - before.Counts[i]; seen >= rank && total > 0 {
			return min(after.Buckets[i+1], math.MaxFloat32)
		}
	}
	return 0
}

// timer returns by how much a sleep of 10 ms is late at most.
func timer(length time.Duration) (latest time.Duration) {
	const pause = 10 * time.Millisecond
	for began := time.Now(); time.Since(began) < length; {
		start := time.Now()
		time.Sleep(pause)
		latest = max(latest, time.Since(start)-pause)
	}
	return latest
}
