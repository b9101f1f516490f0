package capacity

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev"
)

// TestTurnLoad holds the formula to four real replicas of 33 MiB that shared one turn: the share of
// the time for which it was held, up to a load of 0.9 within what was measured then.
func TestTurnLoad(t *testing.T) {
	for _, tt := range []struct {
		rate, live float64
		held       time.Duration
		turns      int
		want       float64
	}{
		{100e6, 100e6, 950 * time.Millisecond, 1, 1},
		{100e6, 100e6, 950 * time.Millisecond, 2, 0.5},
		{200e6, 100e6, 95 * time.Millisecond, 1, 0.2},
		{0, 100e6, time.Second, 1, 0},
		{math.NaN(), 100e6, time.Second, 1, 0},
		{100e6, 0, time.Second, 1, 0},
		{100e6, 100e6, 0, 1, 0},
		{100e6, 100e6, time.Second, 0, 0},
	} {
		if got := TurnLoad(tt.rate, Room(tt.live, 2*tt.live, 0.1), tt.held, tt.turns); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%+v: %g", tt, got)
		}
	}
	// Where T grows with the heap, one turn carries the same allocation whatever that is.
	for _, live := range []float64{1e8, 1e9, 1e10} {
		held := seconds(0.75e-9 * live)
		if rate := Room(live, 2*live, 0.1) / held.Seconds(); math.Abs(rate/1.27e9-1) > 0.01 {
			t.Errorf("%g bytes live: one turn carries %g bytes a second", live, rate)
		}
	}
}

func TestTurnsFor(t *testing.T) {
	for load, want := range map[float64]int{0.1: 1, 0.8: 1, 0.81: 2, 1.6: 2, 7.9: 10} {
		held := seconds(load)
		if got := TurnsFor(1e9, 1e9, held, EasyLoad); got != want {
			t.Errorf("a load of %g: %d turns, want %d", load, got, want)
		}
	}
	if got := TurnsFor(math.MaxFloat64, 1, time.Hour, 1e-9); got != math.MaxInt32 {
		t.Errorf("without bound: %d", got)
	}
}

func TestLongestWait(t *testing.T) {
	for _, tt := range []struct {
		replicas, turns int
		want            time.Duration
	}{
		{1, 1, 0},
		{2, 1, time.Second},
		{4, 1, 3 * time.Second},
		{4, 2, time.Second},
		{5, 2, 2 * time.Second},
		{3, 3, 0},
		{0, 1, 0},
		{4, 0, 0},
	} {
		if got := LongestWait(tt.replicas, tt.turns, time.Second); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

func TestCarriedRate(t *testing.T) {
	for _, tt := range []struct {
		replicas, turns int
		want            float64
	}{{2, 1, 6}, {4, 1, 4}, {4, 2, 6}, {2, 2, 3}, {0, 1, 3}, {3, 0, 3}} {
		if got := CarriedRate(3, tt.replicas, tt.turns); got != tt.want {
			t.Errorf("%+v: %g", tt, got)
		}
	}
}

// service is one whose collector takes much: 1.2 s a second at GOGC=100 before the knee.
func service() Service {
	return Service{
		AllocRate: 1e9, Requests: 10_000, Live: 300e6, Work: Range{4, 5},
		MarkPerByte: Exactly(1.2e-9), Beside: 50e6, Procs: 1, Held: Range{0.3, 0.4},
	}
}

func TestCompare(t *testing.T) {
	got, err := Compare(service(), Options{Replicas: 10})
	if err != nil {
		t.Fatal(err)
	}
	room := 0.95 * 300e6
	want := []Outlook{
		{
			Way: WayGOGC100, Needed: Range{7, 8}, Replicas: Exactly(10), Memory: Range{650e6, 782e6},
			MemoryInAll: Range{6.5e9, 7.82e9},
			CPU:         Range{5.2e-4, 6.56e-4},
			Collector:   Range{1.2 / 6.2, 1.56 / 5.56},
			Headroom:    Range{8.5 / 6.56, 8.5 / 5.2},
		},
		{
			Way: WayGOGC400, Needed: Range{6, 7}, Replicas: Exactly(10), Memory: Range{1.55e9, 1.88e9},
			MemoryInAll: Range{15.5e9, 18.8e9},
			CPU:         Range{4.3e-4, 5.39e-4},
			Collector:   Range{.3 / 5.3, .39 / 4.39},
			Headroom:    Range{8.5 / 5.39, 8.5 / 4.3},
		},
		{
			Way: WayGated, Needed: Range{7, 8}, Replicas: Exactly(10), Memory: Range{650e6, 640e6*1.22 + 50e6},
			MemoryInAll: Range{6.5e9, 8.308e9},
			CPU:         Range{(4 + 1.2/.95) / 1e4, (5 + 1.2/.95) / 1e4},
			Collector:   Range{1.2 / .95 / (5 + 1.2/.95), 1.2 / .95 / (4 + 1.2/.95)},
			Headroom:    Range{.85 * 10 / (5 + 1.2/.95), .85 * 10 / (4 + 1.2/.95)},
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
	s := Service{AllocRate: 30 << 20, Live: 1 << 20, Work: Exactly(1), MarkPerByte: Exactly(1e-9)}
	got, err := Compare(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for way, heap := range map[Way]float64{WayGOGC100: 4 << 20, WayGOGC400: 16 << 20} {
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
	got, err := Compare(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range got {
		if !o.Needed.IsZero() || !o.CPU.IsZero() || !o.Headroom.IsZero() || !o.Collector.IsZero() ||
			!o.MemoryInAll.IsZero() || o.Memory.IsZero() {
			t.Errorf("%v: %+v", o.Way, o)
		}
	}
	if gated := got[WayGated]; gated.TurnLoad.IsZero() || gated.Turns.IsZero() {
		t.Errorf("the formula needs no replicas: %+v", gated)
	}
}

// TestCompareWithMemory: the trigger follows the allocation where there is memory, and what does
// not fit is said.
func TestCompareWithMemory(t *testing.T) {
	s := service()
	plain, err := Compare(s, Options{Replicas: 10})
	if err != nil {
		t.Fatal(err)
	}
	s.AllocRate = 5e9
	large, err := Compare(s, Options{Replicas: 10, Memory: 4e9})
	if err != nil {
		t.Fatal(err)
	}
	if l, p := large[WayGated].TurnLoad.High, plain[WayGated].TurnLoad.High; l > 2*p {
		t.Errorf("five times the load, and memory: the turns' load is %g, was %g", l, p)
	}
	if large[WayGOGC400].TooLarge || large[WayGated].Memory.Low > 4e9 {
		t.Errorf("too large: %+v", large)
	}
	small, err := Compare(s, Options{Replicas: 10, Memory: 1e9})
	if err != nil {
		t.Fatal(err)
	}
	if !small[WayGOGC400].TooLarge || small[WayGOGC100].TooLarge {
		t.Errorf("1 GB: %+v", small)
	}
}

// TestSpareEndsBeforeTheRuntime begins a cycle by itself.
func TestSpareEndsBeforeTheRuntime(t *testing.T) {
	s := service()
	for _, memory := range []float64{0.7e9, 0.8e9, 1e9, 2e9} {
		got, err := Compare(s, Options{Replicas: 1, Memory: memory})
		if err != nil {
			t.Fatal(err)
		}
		gated := got[WayGated]
		trigger := gated.Memory.Low - s.Beside
		hard, start := trigger+gated.Spare*s.AllocRate, RuntimeStart(s.Live, memory-s.Beside)
		if hard > start || hard < trigger*1.05 {
			t.Errorf("%g bytes: trigger %g, hard %g, and the runtime begins at %g", memory, trigger, hard, start)
		}
	}
}

// TestRuntimeStart is 45/64 of the way to 0.97 of what the limit leaves.
func TestRuntimeStart(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct{ live, room, start float64 }{
		{400, 1000, 400 + 570*45./64},
		{0, 1000, 970 * 45. / 64},
		{4, 20, 4 + 15*45./64},
		{400, 300, 400},
		{400, -100, 400},
	} {
		start := RuntimeStart(c.live*mib, c.room*mib)
		if math.Abs(start/mib-c.start) > 1e-6 {
			t.Errorf("%g MiB live, room for %g: %g, want %g", c.live, c.room, start/mib, c.start)
		}
		if room := RoomForStart(c.live*mib, start) / mib; c.room > c.live && math.Abs(room-c.room) > 1e-6 {
			t.Errorf("%g MiB live, no start below %g: %g, want %g", c.live, c.start, room, c.room)
		}
	}
}

func TestWorkAtKnee(t *testing.T) {
	for _, tt := range []struct{ measured, procs, low float64 }{
		{1, 10, 124. / 181}, {1, 3, 124. / 181}, {0.85, 1, 0.85}, {2, 1, 2},
	} {
		if got := WorkAtKnee(tt.measured, tt.procs); math.Abs(got.Low-tt.low) > 1e-9 || got.High != tt.measured {
			t.Errorf("%+v: %v", tt, got)
		}
	}
	if got := WorkAtKnee(0, 4); !got.IsZero() {
		t.Errorf("unknown: %v", got)
	}
}

func TestRefusals(t *testing.T) {
	for field, s := range map[string]Service{
		"AllocRate": {Live: 1}, "Live": {AllocRate: 1, Live: math.NaN()}, "Procs": {AllocRate: 1, Live: 1, Procs: -1},
		"Work": {AllocRate: 1, Live: 1, Work: Range{0, 1}}, "Held": {AllocRate: 1, Live: 1, Held: Range{-1, 1}},
		"MarkPerByte": {AllocRate: 1, Live: 1, MarkPerByte: Range{2, 1}},
		"Requests":    {AllocRate: 1, Live: 1, Requests: math.Inf(1)},
	} {
		var oe *evenkeel.OptionError
		if _, err := Compare(s, Options{}); !errors.As(err, &oe) || oe.Option != field {
			t.Errorf("%+v: %v", s, err)
		}
	}
	for option, o := range map[string]Options{
		"Replicas": {Replicas: -1}, "Turns": {Turns: 2e6},
		"Memory": {Memory: -1},
	} {
		var oe *evenkeel.OptionError
		if _, err := Compare(service(), o); !errors.As(err, &oe) || oe.Option != option {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestWayText(t *testing.T) {
	for _, w := range []Way{WayGOGC100, WayGOGC400, WayGated} {
		text, _ := w.MarshalText()
		var back Way
		if err := back.UnmarshalText(text); err != nil || back != w {
			t.Errorf("%s: %v, %v", text, back, err)
		}
	}
	if err := new(Way).UnmarshalText([]byte("GOGC=50")); err == nil || Way(9).String() != "Way(9)" {
		t.Errorf("%v, %v", err, Way(9))
	}
}
