package capacity

import (
	"math"
	"testing"
	"time"
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
		held := time.Duration(0.75 * live)
		if rate := Room(live, 2*live, 0.1) / held.Seconds(); math.Abs(rate/1.27e9-1) > 0.01 {
			t.Errorf("%g bytes live: one turn carries %g bytes a second", live, rate)
		}
	}
}

func TestTurnsFor(t *testing.T) {
	for load, want := range map[float64]int{0.1: 1, 0.8: 1, 0.81: 2, 1.6: 2, 7.9: 10} {
		held := time.Duration(load * float64(time.Second))
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
