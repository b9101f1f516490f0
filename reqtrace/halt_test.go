package reqtrace_test

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"sync/atomic"
	"testing"

	"evenkeel.dev/internal/testutil"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/region"
)

// TestHalts: what real programs stop the world for is of who asked for it, and never the collector's.
func TestHalts(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for op, stop := range map[string]func(){
		"all goroutines stack trace": func() { runtime.Stack(make([]byte, 1<<16), true) },
		"read mem stats":             func() { runtime.ReadMemStats(new(runtime.MemStats)) },
		"goroutine profile":          func() { _ = pprof.Lookup("goroutine").WriteTo(io.Discard, 0) },
		"GOMAXPROCS":                 func() { runtime.GOMAXPROCS(3 - min(runtime.GOMAXPROCS(0), 2)) },
	} {
		t.Run(op, func(t *testing.T) {
			asked, over := make(chan *atomic.Bool), make(chan bool)
			go func() {
				watchdog(asked, stop)
				close(over)
			}()
			var buf bytes.Buffer
			if err := trace.Start(&buf); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				r := region.Start(context.Background(), "")
				var stopped atomic.Bool
				asked <- &stopped
				for !stopped.Load() {
					runtime.Gosched()
				}
				r.End()
			}
			trace.Stop()
			close(asked)
			<-over
			report, err := reqtrace.Analyze(t.Context(), &buf, reqtrace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if p := report.Total; p.Of(reqtrace.CauseStoppedOther) == 0 || p.Of(reqtrace.CauseStopped) != 0 {
				t.Errorf("%v", p)
			}
			found := false
			for _, b := range report.Tail.Sites {
				if b.Cause == reqtrace.CauseStoppedOther && strings.HasPrefix(b.Op, op) {
					found = found || strings.Contains(b.Holder, "TestHalts")
				}
			}
			if !found {
				t.Errorf("who asked for it is not named: %+v", report.Tail.Sites)
			}
		})
	}
}

// watchdog stops the world when it is asked to.
func watchdog(asked <-chan *atomic.Bool, stop func()) {
	for stopped := range asked {
		stop()
		stopped.Store(true)
	}
}
