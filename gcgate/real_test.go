package gcgate

import (
	"errors"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestRealRuntime lets a gate collect the garbage of this very process.
func TestRealRuntime(t *testing.T) {
	percent := debug.SetGCPercent(100)
	limit := debug.SetMemoryLimit(-1)
	for range 3 {
		g, err := Start(Options{Policy: Through, Jitter: -1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Start(Options{}); !errors.Is(err, ErrRunning) {
			t.Errorf("second Start: %v, want ErrRunning", err)
		}
		if err := g.Collect(t.Context()); err != nil {
			t.Error(err)
		}
		var keep [64][]byte
		deadline := time.Now().Add(20 * time.Second)
		for i := 0; g.Stats().Collections[Trigger]+g.Stats().Collections[Hard] < 3; i++ {
			keep[i%len(keep)] = make([]byte, 64<<10)
			if i%16 == 0 {
				time.Sleep(100 * time.Microsecond)
			}
			if time.Now().After(deadline) {
				t.Fatalf("no three collections: %+v", g.Stats())
			}
		}
		runtime.KeepAlive(keep)
		s := g.Stats()
		if s.Escaped > 0 || s.Collections[Requested] != 1 {
			t.Errorf("stats: %+v", s)
		}
		g.Stop()
		g.Stop()
		if err := g.Collect(t.Context()); !errors.Is(err, ErrStopped) {
			t.Errorf("Collect after Stop: %v", err)
		}
		if p := debug.SetGCPercent(100); p != 100 {
			t.Errorf("GOGC after Stop is %d, before it was 100", p)
		}
		if l := debug.SetMemoryLimit(-1); l != limit {
			t.Errorf("memory limit after Stop is %d, before it was %d", l, limit)
		}
	}
	debug.SetGCPercent(percent)
}
