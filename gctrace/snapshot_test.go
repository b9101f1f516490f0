package gctrace

import (
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// known makes a snapshot, at seconds of the clock, of a process that has collected n times.
func known(at int, n int64) Snapshot {
	d := func(x int64) Value[time.Duration] { return Of(time.Duration(x) * ms) }
	return Snapshot{
		at: time.Unix(int64(at), 0), procs: Of(int64(4)), cycles: Of(n), forced: Of(n / 2), allocs: Of(n * 3 * mib),
		goal: Of(9 * mib), live: Of(7 * mib),
		cpu:    cpuClasses{assist: d(n), dedicated: d(20 * n), idle: d(3 * n), pause: d(2 * n), total: d(26 * n)},
		pauses: pauses{counts: []uint64{0, uint64(2 * n), 0}, bounds: []float64{0, 0.001, 0.003, 1}, known: true},
	}
}

func TestSince(t *testing.T) {
	t.Parallel()
	none := Value[time.Duration]{}
	full := Summary{
		Window: Of(10 * time.Second), Procs: Of(4), Collections: 6, Forced: Of(int64(3)),
		Wall: Wall{Pause: Of(24 * ms), PauseMax: Of(3 * ms)},
		CPU: CPU{
			Assist: Of(6 * ms), Background: Of(120 * ms), Idle: Of(18 * ms), Pause: Of(12 * ms), Total: Of(138 * ms),
		},
		CPUPercent: Of(0.345), Pace: Of(10 * time.Second / 6),
		Heap:       Heap{Live: Range{Last: Of(7 * mib)}, Goal: Range{Last: Of(9 * mib)}},
		AllocBytes: Of(18 * mib),
	}
	change := func(s Summary, f func(*Summary)) Summary { f(&s); return s }
	moved := known(20, 10)
	moved.procs = Of(int64(8))
	old := known(20, 10)
	old.cpu, old.pauses, old.live = cpuClasses{}, pauses{}, Value[int64]{}
	tests := []struct {
		name      string
		s, before Snapshot
		want      Summary
	}{
		{name: "ten seconds", s: known(20, 10), before: known(10, 4), want: full},
		{name: "backwards", s: known(10, 4), before: known(20, 10)},
		{name: "zero snapshot", before: known(20, 10)},
		{
			name: "since the start", s: known(20, 6),
			want: change(full, func(s *Summary) {
				s.Window, s.Pace = none, none
				s.CPUPercent = Value[float64]{}
			}),
		},
		{
			name: "no collection ever", s: known(20, 0), before: known(10, 0),
			want: Summary{
				Window: Of(10 * time.Second), Procs: Of(4), Forced: Of(int64(0)), AllocBytes: Of(int64(0)),
				Wall: Wall{Pause: Of(time.Duration(0))}, Heap: Heap{Goal: full.Heap.Goal},
			},
		},
		{
			name: "no collection since", s: known(20, 4), before: known(10, 4),
			want: Summary{
				Window: Of(10 * time.Second), Procs: Of(4), Forced: Of(int64(0)), AllocBytes: Of(int64(0)),
				Wall: Wall{Pause: Of(time.Duration(0))}, Heap: full.Heap, CPUPercent: Of(0.0),
				CPU: CPU{
					Assist: Of(time.Duration(0)), Background: Of(time.Duration(0)), Idle: Of(time.Duration(0)),
					Pause: Of(time.Duration(0)), Total: Of(time.Duration(0)),
				},
			},
		},
		{
			name: "GOMAXPROCS changed", s: moved, before: known(10, 4),
			want: change(full, func(s *Summary) { s.Procs, s.CPUPercent = Of(8), Value[float64]{} }),
		},
		{
			name: "runtime without the metrics", s: old, before: known(10, 4),
			want: change(full, func(s *Summary) {
				s.CPU, s.Wall, s.CPUPercent, s.Heap.Live = CPU{}, Wall{}, Value[float64]{}, Range{}
			}),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, tt.s.Since(tt.before), compareValues); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// This runtime has every metric that Take reads, and in the kind that it expects.
func TestTake(t *testing.T) {
	t.Parallel()
	all := metrics.All()
	for _, r := range readings {
		if !slices.ContainsFunc(all, func(d metrics.Description) bool { return d.Name == r.name }) {
			t.Errorf("runtime/metrics of %s has no %s", runtime.Version(), r.name)
		}
	}
	before := Take()
	runtime.GC()
	s := Take().Since(before)
	if s.Collections < 1 {
		t.Errorf("%d collections over runtime.GC", s.Collections)
	}
	for name, known := range map[string]bool{
		"Window": s.Window.Known(), "Procs": s.Procs.Known(), "Forced": s.Forced.Known(), "Pace": s.Pace.Known(),
		"Wall.Pause": s.Wall.Pause.Known(), "Wall.PauseMax": s.Wall.PauseMax.Known(), "CPU.Total": s.CPU.Total.Known(),
		"CPU.Assist": s.CPU.Assist.Known(), "CPU.Background": s.CPU.Background.Known(), "CPU.Idle": s.CPU.Idle.Known(),
		"CPU.Pause": s.CPU.Pause.Known(), "CPUPercent": s.CPUPercent.Known(), "AllocBytes": s.AllocBytes.Known(),
		"Heap.Live": s.Heap.Live.Last.Known(), "Heap.Goal": s.Heap.Goal.Last.Known(),
	} {
		if !known {
			t.Errorf("%s is absent", name)
		}
	}
}

// A metric that the runtime does not have is absent.
func TestSnapshotOfMissing(t *testing.T) {
	t.Parallel()
	samples := make([]metrics.Sample, len(readings)) // KindBad
	now := time.Now()
	got := snapshotOf(now, samples).Since(snapshotOf(now.Add(-time.Second), samples))
	if d := cmp.Diff(Summary{Window: Of(time.Second)}, got, compareValues); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestTakeConcurrently(t *testing.T) {
	t.Parallel()
	first := Take()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if s := Take().Since(first); !s.AllocBytes.Known() {
					t.Error("AllocBytes is absent")
				}
			}
		})
	}
	wg.Wait()
}
