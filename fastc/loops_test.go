//go:build cgo && unix

package fastc_test

import (
	"context"
	"fmt"
	"log/slog"
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
	"evenkeel.dev/internal/testutil"
)

const (
	loopTurns = 20_000 // of a call: 5 to 20 µs
	// of a loop, where nothing preempts it: then a collection waits for all of them, half a minute
	// and more
	loopCalls      = 5_000_000
	wantCollection = 10 // complete before the first loop ends
)

// loops call C again and again, on one goroutine each. No function stands between a loop and what
// it tests: the compiler would ask for preemption where it begins.
var loops = map[string]func(enough *atomic.Bool){
	"Call": func(enough *atomic.Bool) {
		turns := int64(loopTurns)
		for i := 0; i < loopCalls && !enough.Load(); i++ {
			fastc.Call(leaf.Turn, unsafe.Pointer(&turns))
		}
	},
	"Slow": func(enough *atomic.Bool) {
		turns := int64(loopTurns)
		for i := 0; i < loopCalls && !enough.Load(); i++ {
			fastc.Slow(leaf.Turn, unsafe.Pointer(&turns))
		}
	},
	"Site": func(enough *atomic.Bool) {
		turns, s := int64(loopTurns), fastc.MustSite(leaf.Turn, "turn", fastc.Options{Budget: time.Hour})
		for i := 0; i < loopCalls && !enough.Load(); i++ {
			s.Call(unsafe.Pointer(&turns))
		}
	},
	"Site diverted": func(enough *atomic.Bool) {
		turns, s := int64(loopTurns), fastc.MustSite(leaf.Turn, "turn",
			fastc.Options{Budget: 1, Hold: 24 * time.Hour, Logger: silent})
		for i := 0; i < loopCalls && !enough.Load(); i++ {
			s.Call(unsafe.Pointer(&turns))
		}
	},
}

// TestLoops holds that loops of calls on all processors hold nothing up beyond the call under way:
// neither a stop of the world, nor, on one processor, the goroutine that asks for it.
func TestLoops(t *testing.T) {
	testutil.Slow(t, "takes ten seconds")
	for name, loop := range loops {
		for _, processors := range []int{1, 2} {
			held := !t.Run(fmt.Sprint(name, ", ", processors), func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
				if n := collectBeside(loop); n < wantCollection {
					t.Errorf("a loop of %d calls was over after %d collections, want %d", loopCalls, n, wantCollection)
				}
			})
			if held {
				return // the others would take as long
			}
		}
	}
}

// collectBeside counts the collections that are complete before one of the loops is.
func collectBeside(loop func(enough *atomic.Bool)) (n int) {
	var enough atomic.Bool
	var ended atomic.Int32
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			loop(&enough)
			ended.Add(1)
		})
	}
	for n < wantCollection {
		if runtime.GC(); ended.Load() > 0 {
			break
		}
		n++
	}
	enough.Store(true)
	wg.Wait()
	return n
}

// TestOwnFrame holds that a call through a Site has a frame of its own, where the goroutine can be
// preempted; an inlined function has none. A loop does not show it: now and then a call is timed.
func TestOwnFrame(t *testing.T) {
	needShortWay(t)
	h := &tracing{Handler: slog.DiscardHandler}
	s := fastc.MustSite(leaf.Turn, "turn", fastc.Options{Budget: 1, Hold: 24 * time.Hour, Logger: slog.New(h)})
	turns := int64(loopTurns)
	for i := 0; !s.Stats().Diverted && i < loopCalls; i++ {
		s.Call(unsafe.Pointer(&turns))
	}
	if !h.own {
		t.Error("(*Site).Call is inlined")
	}
}

// tracing is a log handler that looks for the frame of [fastc.Site.Call] below it.
type tracing struct {
	slog.Handler
	own bool
}

func (h *tracing) Enabled(context.Context, slog.Level) bool { return true }

func (h *tracing) Handle(context.Context, slog.Record) error {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	for f, more := frames.Next(); more; f, more = frames.Next() {
		h.own = h.own || f.Function == "evenkeel.dev/fastc.(*Site).Call" && f.Func != nil
	}
	return nil
}

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
