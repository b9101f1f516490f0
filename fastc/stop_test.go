//go:build cgo && unix

package fastc_test

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"evenkeel.dev/fastc"
	"evenkeel.dev/fastc/internal/leaf"
)

// needShortWay skips the test where every call goes through cgo.
func needShortWay(t *testing.T) {
	t.Helper()
	if !fastc.Available() {
		t.Skip("needs the short way: " + fastc.Source())
	}
}

// gated calls leaf.Gate in a goroutine and returns once C runs. wait waits for its end.
func gated(t *testing.T, call func(fn, arg unsafe.Pointer) int32, f *leaf.GateFrame) (wait func() int32) {
	t.Helper()
	var result int32
	var wg sync.WaitGroup
	wg.Go(func() { result = call(leaf.Gate, unsafe.Pointer(f)) })
	for atomic.LoadInt32(&f.Entered) == 0 {
		runtime.Gosched()
	}
	return func() int32 { wg.Wait(); return result }
}

// TestStopWaits holds that a collection's stop of the world lasts until a call on the short way
// returns. A call that was over before the collection began says nothing: on a busy machine it
// takes a longer one.
func TestStopWaits(t *testing.T) {
	needShortWay(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))) // one calls, one collects
	for long := 50 * time.Millisecond; long < time.Minute; long *= 2 {
		f := &leaf.GateFrame{NS: int64(long)}
		before := stopsBeyond(long / 5)
		wait := gated(t, fastc.Call, f)
		runtime.GC()
		if atomic.LoadInt32(&f.Left) == 0 {
			t.Error("a collection began and ended during the call")
		}
		if r := wait(); r != 1 {
			t.Errorf("returned %d though nothing opened the gate", r)
		}
		if stopsBeyond(long/5) > before {
			return
		}
		t.Logf("%v: the call was over before the collection began", long)
	}
	t.Error("/sched/pauses/stopping/gc did not show the calls")
}

// TestStopPasses holds that one by ordinary cgo does not hinder it: it returns only after a
// collection is complete.
func TestStopPasses(t *testing.T) {
	site := fastc.MustSite(leaf.Gate, "gate", fastc.Options{})
	for name, call := range map[string]func(fn, arg unsafe.Pointer) int32{
		"Slow":      fastc.Slow,
		"Site.Slow": func(_, arg unsafe.Pointer) int32 { return site.Slow(arg) },
	} {
		t.Run(name, func(t *testing.T) {
			f := &leaf.GateFrame{NS: int64(time.Minute)}
			wait := gated(t, call, f)
			runtime.GC()
			if atomic.LoadInt32(&f.Left) != 0 {
				t.Error("the call ended before the collection")
			}
			atomic.StoreInt32(&f.Open, 1)
			if r := wait(); r != 0 {
				t.Errorf("returned %d", r)
			}
		})
	}
}

// stopsBeyond counts the collector's stops of the world that took longer.
func stopsBeyond(d time.Duration) (n uint64) {
	sample := []metrics.Sample{{Name: "/sched/pauses/stopping/gc:seconds"}}
	metrics.Read(sample)
	h := sample[0].Value.Float64Histogram()
	for i, count := range h.Counts {
		if h.Buckets[i] >= d.Seconds() {
			n += count
		}
	}
	return n
}

// TestBlockingCallIsInterrupted shows what a call that waits comes to: the signal by which Go
// preempts ends the wait.
func TestBlockingCallIsInterrupted(t *testing.T) {
	needShortWay(t)
	for range 60 { // half a minute
		ns := int64(500 * time.Millisecond)
		switch r := syscall.Errno(fastc.Call(leaf.Sleep, unsafe.Pointer(&ns))); r {
		case syscall.EINTR:
			return
		case 0: // nothing had to be preempted
		default:
			t.Fatal(r)
		}
	}
	t.Error("60 sleeps of 500 ms were never interrupted")
}
