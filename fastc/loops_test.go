//go:build cgo && unix

package fastc_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
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
		turns, s := int64(loopTurns), fastc.MustSite(leaf.Turn, "turn", fastc.Options{DisableBudget: true})
		for i := 0; i < loopCalls && !enough.Load(); i++ {
			s.Call(unsafe.Pointer(&turns))
		}
	},
	"Site diverted": func(enough *atomic.Bool) {
		turns, s := int64(loopTurns), fastc.MustSite(leaf.Turn, "turn",
			fastc.Options{Budget: 1, Hold: fastc.HoldForever, Logger: silent})
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
	s := fastc.MustSite(leaf.Turn, "turn", fastc.Options{Budget: 1, Hold: fastc.HoldForever, Logger: slog.New(h)})
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
