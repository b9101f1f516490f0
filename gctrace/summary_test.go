package gctrace

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// at makes cycle n, from 10 ms before end to end.
func at(n int64, end time.Duration) Cycle {
	return Cycle{
		N: n, At: end - 10*ms, Wall: WallPhases{1 * ms, 7 * ms, 2 * ms},
		CPU:        CPUPhases{2 * ms, 3 * ms, 5 * ms, 100 * ms, 4 * ms},
		HeapBefore: (10 + n) * mib, HeapAfter: (12 + n) * mib, HeapLive: 8 * mib, Goal: Of(20 * mib), Procs: 2,
	}
}

func TestSummarize(t *testing.T) {
	t.Parallel()
	cycles := []Cycle{
		at(1, 100*ms), with(at(2, 200*ms), func(c *Cycle) { c.Forced = true }), at(3, 300*ms),
		with(at(4, 400*ms), func(c *Cycle) { c.Wall.MarkTermination, c.At, c.Procs = 4*ms, c.At-2*ms, 4 }),
	}
	got := Summarize(slices.Values(cycles), Window{From: 100 * ms, To: 500 * ms})
	want := Summary{
		Window: Of(400 * ms), Procs: Of(4), Collections: 3, Forced: Of(int64(1)),
		Wall: Wall{
			SweepTermination: Of(3 * ms), Mark: Of(21 * ms), MarkTermination: Of(8 * ms),
			Pause: Of(11 * ms), PauseMax: Of(4 * ms), Total: Of(32 * ms),
		},
		CPU: CPU{
			SweepTermination: Of(6 * ms), Assist: Of(9 * ms), Background: Of(15 * ms), Idle: Of(300 * ms),
			MarkTermination: Of(12 * ms), Pause: Of(18 * ms), Total: Of(42 * ms),
		},
		// 200 ms of 2 Ps and 200 ms of 4.
		CPUPercent: Of(42.0 / 1200 * 100),
		Pace:       Of(400 * ms / 3),
		Heap: Heap{
			Before: Range{Of(14 * mib), Of(13 * mib), Of(14 * mib)},
			After:  Range{Of(16 * mib), Of(15 * mib), Of(16 * mib)},
			Live:   Range{Of(8 * mib), Of(8 * mib), Of(8 * mib)},
			Goal:   Range{Of(20 * mib), Of(20 * mib), Of(20 * mib)},
		},
		AllocBytes: Of((6 + 7 + 8) * mib),
	}
	almost := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	if d := cmp.Diff(want, got, compareValues, almost); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestSummarizeGaps: collections whose lines are missing between others count, and the other sums
// say that they lack them.
func TestSummarizeGaps(t *testing.T) {
	t.Parallel()
	cycles := []Cycle{at(3, 100*ms), at(5, 300*ms), at(14, 1200*ms), at(20, 2000*ms)}
	s := Summarize(slices.Values(cycles), Window{From: 200 * ms, To: 1400 * ms})
	if pace, _ := s.Pace.Get(); s.Collections != 10 || s.Read != Of(int64(2)) || pace != 120*ms ||
		s.CPU.Assist != Of(6*ms) {
		t.Errorf("%d collections, %v read, pace %v, %v of assists", s.Collections, s.Read, s.Pace, s.CPU.Assist)
	}
	whole := Summarize(slices.Values([]Cycle{at(3, 100*ms), at(4, 200*ms)}), Window{})
	if !whole.Read.IsZero() || whole.Collections != 2 {
		t.Errorf("nothing is missing: %+v", whole)
	}
}

func TestSummarizeEdges(t *testing.T) {
	t.Parallel()
	three := []Cycle{at(1, 100*ms), at(2, 200*ms), at(3, 300*ms)}
	tests := []struct {
		name   string
		cycles []Cycle
		w      Window
		n      int64
		window Value[time.Duration]
		cpu    Value[float64]
		alloc  Value[int64]
	}{
		{"whole log", three, Window{}, 3, Of(300 * ms), Of(7.0), Of((13 + 6 + 7) * mib)},
		{"up to an end", three, Window{To: 200 * ms}, 2, Of(200 * ms), Of(7.0), Of((13 + 6) * mib)},
		{"from that end", three, Window{From: 200 * ms, To: 400 * ms}, 1, Of(200 * ms), Of(3.5), Of(7 * mib)},
		{"to the last", three, Window{From: 200 * ms}, 1, Of(100 * ms), Of(7.0), Of(7 * mib)},
		{"between cycles", three, Window{From: 210 * ms, To: 290 * ms}, 0, Of(80 * ms), Of(0.0), Value[int64]{}},
		{"behind the last", three, Window{From: 300 * ms}, 0, Value[time.Duration]{}, Value[float64]{}, Value[int64]{}},
		{
			"backwards", three,
			Window{From: 300 * ms, To: 200 * ms},
			0,
			Value[time.Duration]{},
			Value[float64]{},
			Value[int64]{},
		},
		{"no cycles", nil, Window{To: time.Second}, 0, Of(time.Second), Of(0.0), Value[int64]{}},
		{"nothing at all", nil, Window{}, 0, Value[time.Duration]{}, Value[float64]{}, Value[int64]{}},
		{
			"cycle before lacking", three[1:2],
			Window{From: 100 * ms, To: 200 * ms},
			1, Of(100 * ms), Of(7.0),
			Value[int64]{},
		},
		{"gap", []Cycle{three[0], three[2]}, Window{}, 3, Of(300 * ms), Of(28.0 / 600 * 100), Of(13 * mib)},
		{
			"procs not known",
			[]Cycle{with(three[0], func(c *Cycle) { c.Procs = 0 })},
			Window{},
			1, Of(100 * ms),
			Value[float64]{},
			Of(13 * mib),
		},
	}
	almost := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Summarize(slices.Values(tt.cycles), tt.w)
			if s.Collections != tt.n {
				t.Errorf("%d collections, want %d", s.Collections, tt.n)
			}
			if d := cmp.Diff(tt.window, s.Window, compareValues); d != "" {
				t.Errorf("Window: -want +got:\n%s", d)
			}
			if d := cmp.Diff(tt.cpu, s.CPUPercent, compareValues, almost); d != "" {
				t.Errorf("CPUPercent: -want +got:\n%s", d)
			}
			if d := cmp.Diff(tt.alloc, s.AllocBytes, compareValues); d != "" {
				t.Errorf("AllocBytes: -want +got:\n%s", d)
			}
			if s.Pace.IsZero() != (tt.n == 0) {
				t.Errorf("Pace %+v of %d collections", s.Pace, tt.n)
			}
			// A sum of no cycles is 0 if the window is known, else absent.
			if s.CPU.Total.IsZero() != tt.window.IsZero() {
				t.Errorf("CPU.Total %+v, Window %+v", s.CPU.Total, s.Window)
			}
		})
	}
}

// What is absent is left out of JSON, what is 0 is not, and both come back.
func TestSummaryJSON(t *testing.T) {
	t.Parallel()
	for _, s := range []Summary{
		{},
		Summarize(slices.Values([]Cycle{at(1, 100*ms)}), Window{}),
		Summarize(slices.Values([]Cycle(nil)), Window{To: time.Second}),
	} {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var got Summary
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(s, got, compareValues); d != "" {
			t.Errorf("%s: -want +got:\n%s", b, d)
		}
	}
	b, err := json.Marshal(Summary{Wall: Wall{Pause: Of(time.Duration(0))}})
	if want := `{"collections":0,"wall":{"pause_ns":0},"cpu":{},"heap":{}}`; err != nil || string(b) != want {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
}

// FuzzFindGC holds findGC against bytes.Index.
func FuzzFindGC(f *testing.F) {
	for _, s := range []string{
		"", "gc", "gc ", "0123456gc 9", "01234567gc 9", "ggc gc ", "hc gb gc\x00gc ",
		"gcgcgcgcgcgcgc ",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for i := range b {
			if got, want := findGC(b[i:]), bytes.Index(b[i:], []byte("gc ")); got != want {
				t.Fatalf("findGC(%q) = %d, want %d", b[i:], got, want)
			}
		}
	})
}
