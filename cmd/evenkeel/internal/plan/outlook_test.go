package plan

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/capacity"
	"evenkeel.dev/gcgate/gcgatetest"
)

// service is one whose collector takes much: 1.2 s a second at GOGC=100 before the knee.
func service() load {
	return load{
		AllocRate: 1e9, Requests: 10_000, Live: 300e6, Work: Range{4, 5},
		MarkPerByte: exactly(1.2e-9), Beside: 50e6, Procs: 1, Held: Range{0.3, 0.4},
	}
}

func TestCompare(t *testing.T) {
	got := lookAhead(service(), limits{Replicas: 10})
	room := 0.95 * 300e6
	want := []Outlook{
		{
			Way: "GOGC=100", Needed: Range{7, 8}, Replicas: exactly(10), Memory: Range{650e6, 782e6},
			MemoryInAll: Range{6.5e9, 7.82e9},
			CPU:         Range{5.2e-4, 6.56e-4},
			Collector:   Range{1.2 / 6.2, 1.56 / 5.56},
		},
		{
			Way: "GOGC=400", Needed: Range{6, 7}, Replicas: exactly(10), Memory: Range{1.55e9, 1.88e9},
			MemoryInAll: Range{15.5e9, 18.8e9},
			CPU:         Range{4.3e-4, 5.39e-4},
			Collector:   Range{.3 / 5.3, .39 / 4.39},
		},
		{
			Way: "gated", Needed: Range{7, 8}, Replicas: exactly(10), Memory: Range{650e6, 640e6*1.22 + 50e6},
			MemoryInAll: Range{6.5e9, 8.308e9},
			CPU:         Range{(4 + 1.2/.95) / 1e4, (5 + 1.2/.95) / 1e4},
			Collector:   Range{1.2 / .95 / (5 + 1.2/.95), 1.2 / .95 / (4 + 1.2/.95)},
			Turns:       Range{2, 2}, TurnLoad: Range{1e9 * .3 / room, 1e9 * .4 / room},
			Wait: Range{2.7, 3.6}, Spare: 0.75 * 600e6 / 1e8 * 0.9, // nine carry the load of ten
		},
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) })
	if d := cmp.Diff(want, got, near); d != "" {
		t.Error(d)
	}
}

// TestCompareSmall: the runtime lets a small heap grow to 4 MiB, at GOGC=400 to 16, before it
// collects.
func TestCompareSmall(t *testing.T) {
	s := load{AllocRate: 30 << 20, Live: 1 << 20, Work: exactly(1), MarkPerByte: exactly(1e-9)}
	got := lookAhead(s, limits{})
	for way, heap := range map[int]float64{GOGC100: 4 << 20, GOGC400: 16 << 20} {
		marking := 1e-9 * s.Live * s.AllocRate / (heap - s.Live)
		if o := got[way]; o.Memory.Low != heap || math.Abs(o.Collector.Low-marking/(marking+1)) > 1e-9 {
			t.Errorf("%+v", o)
		}
	}
}

// TestCompareKnowsWhatItDoesNotKnow leaves out CPU, requests and replicas.
func TestCompareKnowsWhatItDoesNotKnow(t *testing.T) {
	s := service()
	s.Work, s.Requests = Range{}, 0
	got := lookAhead(s, limits{})
	for _, o := range got {
		if !o.Needed.IsZero() || !o.CPU.IsZero() || !o.Collector.IsZero() ||
			!o.MemoryInAll.IsZero() || o.Memory.IsZero() {
			t.Errorf("%v: %+v", o.Way, o)
		}
	}
	if gated := got[Gated]; gated.TurnLoad.IsZero() || gated.Turns.IsZero() {
		t.Errorf("the formula needs no replicas: %+v", gated)
	}
}

// TestCompareWithMemory: the trigger follows the allocation where there is memory, and what does
// not fit is said.
func TestCompareWithMemory(t *testing.T) {
	s := service()
	plain := lookAhead(s, limits{Replicas: 10})
	s.AllocRate = 5e9
	large := lookAhead(s, limits{Replicas: 10, Memory: 4e9})
	if l, p := large[Gated].TurnLoad.High, plain[Gated].TurnLoad.High; l > 2*p {
		t.Errorf("five times the load, and memory: the turns' load is %g, was %g", l, p)
	}
	if large[GOGC400].TooLarge || large[Gated].Memory.Low > 4e9 {
		t.Errorf("too large: %+v", large)
	}
	small := lookAhead(s, limits{Replicas: 10, Memory: 1e9})
	if !small[GOGC400].TooLarge || small[GOGC100].TooLarge {
		t.Errorf("1 GB: %+v", small)
	}
}

// TestSpareEndsBeforeTheRuntime begins a cycle by itself.
func TestSpareEndsBeforeTheRuntime(t *testing.T) {
	s := service()
	for _, memory := range []float64{0.7e9, 0.8e9, 1e9, 2e9} {
		got := lookAhead(s, limits{Replicas: 1, Memory: memory})
		gated := got[Gated]
		trigger := gated.Memory.Low - s.Beside
		hard, start := trigger+gated.Spare*s.AllocRate, capacity.RuntimeStart(s.Live, memory-s.Beside)
		if hard > start || hard < trigger*1.05 {
			t.Errorf("%g bytes: trigger %g, hard %g, and the runtime begins at %g", memory, trigger, hard, start)
		}
	}
}

func TestWorkAtKnee(t *testing.T) {
	for _, tt := range []struct{ measured, procs, low float64 }{
		{1, 10, 124. / 181}, {1, 3, 124. / 181}, {0.85, 1, 0.85}, {2, 1, 2},
	} {
		if got := workAtKnee(tt.measured, tt.procs); math.Abs(got.Low-tt.low) > 1e-9 || got.High != tt.measured {
			t.Errorf("%+v: %v", tt, got)
		}
	}
	if got := workAtKnee(0, 4); !got.IsZero() {
		t.Errorf("unknown: %v", got)
	}
}

// TestCompareKnowsTheGate: a plan has the thresholds of a gate with its default options.
func TestCompareKnowsTheGate(t *testing.T) {
	const mib, memory, replicas = 1 << 20, 2 << 30, 8
	for _, live := range []uint64{20, 100, 300} {
		for _, rate := range []float64{1 * mib, 10 * mib, 400 * mib} {
			synctest.Test(t, func(t *testing.T) {
				heap := gcgatetest.NewHeap()
				heap.Live, heap.Rate = live*mib, rate
				g, err := gcgate.Start(t.Context(), gcgate.Options{
					Policy: gcgate.PolicyThrough, HardRatio: 3.5, Jitter: -1, MemoryLimitBytes: memory, Collector: heap,
				})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				stats := g.Stats()
				if err := g.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
				want := float64(stats.Hard-stats.Trigger) / capacity.CarriedRate(rate, replicas, 1)
				got := lookAhead(load{
					Live: float64(live * mib), AllocRate: rate * replicas, Procs: 1, Held: exactly(.5),
				}, limits{Memory: memory, Replicas: replicas})
				if spare := got[Gated].Spare; math.Abs(spare/want-1) > .01 {
					t.Errorf("%d MiB live, %g bytes/s: %g s from the trigger to the hard threshold, of the gate %g",
						live, rate, spare, want)
				}
			})
		}
	}
}
