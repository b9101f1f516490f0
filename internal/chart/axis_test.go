package chart

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSeries125(t *testing.T) {
	for i, want := range map[int]float64{-4: .05, -3: .1, -1: .5, 0: 1, 1: 2, 2: 5, 3: 10, 7: 200, 17: 5e5} {
		if got := Series125(i); got != want {
			t.Errorf("Series125(%d) = %g, want %g", i, got, want)
		}
		if got := Index125(want); got != i {
			t.Errorf("Index125(%g) = %d, want %d", want, got, i)
		}
	}
	for v, want := range map[float64]float64{.019: .01, .9999: .5, 1.5: 1, 4.99: 2, 9.9: 5, 12345: 1e4} {
		if got := Series125(Index125(v)); got != want {
			t.Errorf("below %g: %g, want %g", v, got, want)
		}
	}
}

func TestLogAxis(t *testing.T) {
	for _, tt := range []struct{ lo, hi, wantLo, wantHi float64 }{
		{1, 1, .5, 2},         // all alike
		{1.5, 1.5, .5, 5},     // all alike, between the numbers of the series
		{95, 51234, 50, 1e5},  // usual
		{100, 1000, 100, 1e3}, // on numbers of the series already
		{.05, 3.6e9, .05, 5e9},
	} {
		a := LogAxis(tt.lo, tt.hi)
		if a.Lo != tt.wantLo || a.Hi != tt.wantHi {
			t.Errorf("logAxis(%g, %g) = %g to %g, want %g to %g", tt.lo, tt.hi, a.Lo, a.Hi, tt.wantLo, tt.wantHi)
		}
		if f := a.Frac(tt.lo); f < 0 || f > a.Frac(tt.hi) || a.Frac(tt.hi) > 1 {
			t.Errorf("logAxis(%g, %g): out of the axis", tt.lo, tt.hi)
		}
	}
}

func TestLogTicks(t *testing.T) {
	for _, tt := range []struct {
		lo, hi float64
		most   int
		want   []float64
	}{
		{1, 10, 16, []float64{1, 2, 5, 10}},
		{50, 2000, 16, []float64{50, 100, 200, 500, 1000, 2000}},
		{1, 1e4, 6, []float64{1, 10, 100, 1000, 1e4}},
		{2, 50, 2, []float64{2, 5, 10, 20, 50}}, // one power of ten would not do
		{.01, 1, 0, []float64{.01, .1, 1}},
	} {
		if d := cmp.Diff(tt.want, LogTicks(tt.lo, tt.hi, tt.most)); d != "" {
			t.Errorf("logTicks(%g, %g, %d): -want +got\n%s", tt.lo, tt.hi, tt.most, d)
		}
	}
}

func TestTimeTicks(t *testing.T) {
	for _, tt := range []struct {
		end  float64
		want string
	}{
		{.02, "0 5 ms 10 ms 15 ms 20 ms"},
		{1, "0 200 ms 400 ms 600 ms 800 ms 1 s"},
		{10.2, "0 2 s 4 s 6 s 8 s 10 s"},
		{30, "0 5 s 10 s 15 s 20 s 25 s 30 s"},
		{60, "0 10 s 20 s 30 s 40 s 50 s 60 s"},
		{300, "0 60 s 2m0s 3m0s 4m0s 5m0s"},
		{3600, "0 10m0s 20m0s 30m0s 40m0s 50m0s 1h0m0s"},
		{86400, "0 4h0m0s 8h0m0s 12h0m0s 16h0m0s 20h0m0s 24h0m0s"},
	} {
		var got []string
		for _, v := range LinearTicks(0, tt.end, TimeStep(tt.end, 6)) {
			got = append(got, LabelTime(v))
		}
		if g := strings.Join(got, " "); g != tt.want {
			t.Errorf("%g s: %s, want %s", tt.end, g, tt.want)
		}
	}
}

func TestLinearTicks(t *testing.T) {
	ticks := LinearTicks(0, .06, .02)
	if math.Signbit(ticks[0]) {
		t.Error("the first tick is -0")
	}
	var got []string
	for _, v := range ticks {
		got = append(got, LabelPercent(v))
	}
	if g := strings.Join(got, " "); g != "0% 2% 4% 6%" {
		t.Errorf("got %s", g)
	}
}

func TestAxisTicks(t *testing.T) {
	a := Axis{Lo: 1, Hi: 100, Log: true}
	got := a.YTicks([]float64{1, 10, 20, 100}, LabelNumber)
	want := []Tick{
		{At: 100, Label: "1"},
		{At: 50, Label: "10"},
		{At: 34.95, Label: "20", Minor: true},
		{At: 0, Label: "100"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
