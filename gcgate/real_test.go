package gcgate

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// TestRealRuntime lets a gate collect the garbage of this very process.
func TestRealRuntime(t *testing.T) {
	percent := debug.SetGCPercent(100)
	defer debug.SetGCPercent(percent)
	limit := debug.SetMemoryLimit(-1)
	for range 3 {
		g, err := Start(t.Context(), Options{Policy: PolicyThrough, Jitter: -1, MaxTriggerBytes: 32 * mib})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Start(t.Context(), Options{}); !errors.Is(err, ErrRunning) {
			t.Errorf("second Start: %v, want ErrRunning", err)
		}
		if p := newGoRuntime().GOGC(); p != -1 {
			t.Errorf("the gate is in charge, and GOGC is read as %d", p)
		}
		if err := g.Collect(t.Context()); err != nil {
			t.Error(err)
		}
		litter(t, g)
		s := g.Stats()
		if s.Escaped > 0 || s.Collections[ReasonRequested] != 1 {
			t.Errorf("stats: %+v", s)
		}
		g.Stop(context.Background())
		g.Stop(context.Background())
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
}

// TestRealRuntimeSpendsMemory raises GOGC of this very process, and gives it back.
func TestRealRuntimeSpendsMemory(t *testing.T) {
	percent := debug.SetGCPercent(100)
	defer debug.SetGCPercent(percent)
	now := func() uint64 {
		gogc := named("/gc/gogc:percent")
		metrics.Read(gogc)
		return gogc[0].Value.Uint64()
	}
	g, err := Start(t.Context(), Options{Policy: PolicyMemory, MemoryLimitBytes: 2 << 30})
	if err != nil {
		t.Fatal(err)
	}
	if p := now(); p < 150 {
		t.Errorf("GOGC is %d beside a limit of 2 GiB", p)
	}
	var keep [64][]byte
	before := g.Stats()
	// until it sees a cycle
	for end := time.Now().Add(time.Minute); g.Stats().OverlappedOther == before.OverlappedOther; {
		ticket := g.Enter()
		for i := range keep {
			keep[i] = make([]byte, 256<<10)
		}
		ticket.Exit()
		if time.Now().After(end) {
			t.Fatalf("in a minute no cycle was seen: %+v", g.Stats())
		}
	}
	if s := g.Stats(); s.Escaped > 0 || len(s.Collections) > 0 {
		t.Errorf("the gate took charge: %+v", s)
	}
	if err := g.Stop(t.Context()); err != nil || now() != 100 {
		t.Errorf("after Stop, %v, GOGC is %d, it was 100", err, now())
	}
	runtime.KeepAlive(keep)
}

// litter makes garbage until the gate has collected three times. Between two looks of the gate
// it makes 8 MiB, and none while the gate collects: however late the machine lets the gate run,
// the heap cannot outgrow the safety limit, 75 MiB above the hard threshold.
func litter(t *testing.T, g *Gate) {
	var keep [64][]byte
	serving := func() bool { return g.State() == StateServing }
	end := time.Now().Add(time.Minute)
	for {
		s := g.Stats()
		if s.Collections[ReasonTrigger]+s.Collections[ReasonHard] >= 3 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("no three collections in a minute: %+v", s)
		}
		made := 0
		for ; made < 8*mib/(64<<10) && serving(); made++ {
			keep[made%len(keep)] = make([]byte, 64<<10)
		}
		for (made > 0 && g.Heap() == s.Heap || !serving()) && time.Now().Before(end) {
			time.Sleep(100 * time.Microsecond)
		}
	}
	runtime.KeepAlive(keep)
}
