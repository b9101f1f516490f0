package observe

import (
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/loadgen"
)

// TestWindow has the server's clock seem late by the time that its lines took to arrive, and
// the ends of its collections be rounded down.
func TestWindow(t *testing.T) {
	const ms = time.Millisecond
	started := time.Now()
	end := func(n int64, at time.Duration, forced bool) gctrace.Cycle {
		return gctrace.Cycle{N: n, At: at - ms, Wall: gctrace.WallPhases{Mark: ms}, Procs: 2, Forced: forced}
	}
	cycles := []gctrace.Cycle{
		end(1, 900*ms, false), end(2, 1001*ms, true), // before: the second for the profile, read before the load
		end(3, 1500*ms, false), end(4, 1700*ms, true), // in the window: the program may force collections too
		end(5, 1999*ms, true), // after: for the profile, rounded down into the window
		end(6, 1999*ms, false),
	}
	for _, tt := range []struct {
		name                  string
		profiled              bool
		seenBefore, seenAfter int
		want                  int64
	}{
		{"by the clock alone", false, 0, 6, 5},
		{"what was read before had ended before", false, 2, 6, 4},
		{"the profile's own collection is left out", true, 2, 4, 2},
		{"so is a forced one that was on its way when the load ended", true, 2, 3, 1},
	} {
		o := &Observer{
			Traced:     true,
			Run:        runfile.Run{Load: &loadgen.Result{Started: started, Duration: time.Second}},
			seenBefore: tt.seenBefore, seenAfter: tt.seenAfter,
		}
		o.Trace.cycles, o.Trace.start = cycles, started.Add(-time.Second)
		if tt.profiled {
			o.before = &allocations{}
		}
		o.fillGC()
		gc := o.Run.GC
		if gc.Summary.Collections != tt.want || int64(len(gc.Collections)) != tt.want {
			t.Errorf("%s: %d and %d collections, want %d", tt.name, gc.Summary.Collections, len(gc.Collections),
				tt.want)
		}
		if w, _ := gc.Summary.Window.Get(); w != time.Second {
			t.Errorf("%s: a window of %v, want that of the load", tt.name, w)
		}
	}
}
