package compare

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/loadgen"
)

// known is a run whose figures can be worked out by hand.
func known(t *testing.T) *runfile.Run {
	ns := make([]int64, 1000) // 1 ms, 2 ms, ... 1 s
	for i := range ns {
		ns[i] = int64(i+1) * 1e6
	}
	cycles := []gctrace.Cycle{
		// 100 ms before the window, 2 s and 9 s into it, and 100 ms after it.
		cycle(1, 4900*time.Millisecond), cycle(2, 7*time.Second), cycle(3, 14*time.Second),
		cycle(4, 15100*time.Millisecond),
	}
	w := gctrace.Window{From: 5 * time.Second, To: 15 * time.Second}
	return &runfile.Run{
		Label: "a", Repeat: 1,
		Load: &loadgen.Result{
			Targets: []string{"GET http://127.0.0.1:8080/"}, Connections: 4, Timeout: 20 * time.Second,
			Duration: 10 * time.Second, Answered: 1000, Failed: 2,
			Statuses: map[int]int64{200: 900, 302: 60, 404: 30, 500: 10},
			Failures: []loadgen.Failure{{Class: loadgen.ClassReset, Count: 2, Example: "connection reset"}},
			Latency:  histogramOf(t, ns...),
		},
		GC:          &runfile.GC{Summary: gctrace.Summarize(slices.Values(cycles), w)},
		Alloc:       &runfile.Alloc{Bytes: 1000 << 10, Source: runfile.FromMemStats},
		Server:      &runfile.Server{PeakRSSBytes: 64 << 20, CPU: time.Second, Exit: "signal: terminated"},
		Disturbance: &runfile.Disturbance{ServiceCPU: gctrace.Of(800 * time.Millisecond)},
	}
}

// cycle took 10 ms, 2 of them stopped, and 200 ms of CPU without idle workers, on 4 Ps.
func cycle(n int64, at time.Duration) gctrace.Cycle {
	const ms = time.Millisecond
	return gctrace.Cycle{
		N: n, At: at, Procs: 4,
		Wall: gctrace.WallPhases{SweepTermination: ms / 2, Mark: 8 * ms, MarkTermination: 3 * ms / 2},
		CPU: gctrace.CPUPhases{
			SweepTermination: 2 * ms, Assist: 42 * ms, Background: 150 * ms, Idle: 500 * ms,
			MarkTermination: 6 * ms,
		},
		HeapBefore: 20 << 20, HeapAfter: 24 << 20, HeapLive: 10 << 20, Goal: gctrace.Of(int64(20 << 20)),
	}
}

func TestFigures(t *testing.T) {
	r := known(t)
	got := map[string]string{}
	for _, f := range Figures {
		if x, ok := f.Of(r); ok {
			got[f.Name] = f.Format(x)
		}
	}
	want := map[string]string{
		"requests":            "1,000",
		"failed":              "2",
		"not 2xx or 3xx":      "40",
		"requests/s":          "100",
		"duration":            "10 s",
		"time in GC":          "1.0%",   // 2 x 200 ms of 10 s x 4 Ps
		"collections":         "2",      // not the one before, nor the one after
		"total GC time":       "100 ms", // 1% of 10 s
		"GC wall clock":       "20 ms",  // 2 x 10 ms
		"GC pause, total":     "4 ms",   // 2 x (0.5 + 1.5) ms
		"average pace":        "5 s",    // 10 s / 2
		"requests/collection": "500",    // 1,000 / 2
		"allocated/request":   "1 KiB",  // 1,000 KiB / 1,000
		"peak heap":           "24 MiB",
		"peak memory":         "64 MiB",
		"p50":                 "500 ms",
		"p90":                 "900 ms",
		"p99":                 "990 ms",
		"p99.9":               "999 ms",
		"slowest 1%":          "996 ms",
		"CPU/request":         "800 µs",
		"max":                 "1.00 s",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got: %s", d)
	}
}

// TestFiguresOfLittle has runs in which hardly anything was measured.
func TestFiguresOfLittle(t *testing.T) {
	for name, r := range map[string]*runfile.Run{
		"nothing": {Load: &loadgen.Result{}},
		"no collections": {
			Load: &loadgen.Result{Duration: time.Second, Answered: 5}, GC: &runfile.GC{},
			Alloc: &runfile.Alloc{}, Server: &runfile.Server{},
		},
		"no answers": {
			Load: &loadgen.Result{Duration: time.Second},
			GC:   &runfile.GC{Summary: gctrace.Summary{Collections: 3}}, Alloc: &runfile.Alloc{Bytes: 9},
		},
	} {
		for _, f := range Figures {
			x, ok := f.Of(r)
			if ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
				t.Errorf("%s: %s is %v", name, f.Name, x)
			}
			if f.Name == "average pace" && ok && name != "no answers" {
				t.Errorf("%s: average pace without collections: %v", name, x)
			}
		}
	}
}

func TestCell(t *testing.T) {
	f := Figure{Of: func(r *runfile.Run) (float64, bool) { return float64(r.Repeat), r.Repeat >= 0 }}
	for _, tt := range []struct {
		in   []int
		want Cell
	}{
		{nil, Cell{}},
		{[]int{-1, -2}, Cell{}},
		{[]int{7}, Cell{true, 7, 7, 7}},
		{[]int{9, 1}, Cell{true, 5, 1, 9}},
		{[]int{9, -1, 1, 4}, Cell{true, 4, 1, 9}},
		{[]int{4, 3, 2, 1}, Cell{true, 2.5, 1, 4}},
	} {
		var runs []*runfile.Run
		for _, x := range tt.in {
			runs = append(runs, &runfile.Run{Repeat: x})
		}
		if got := newCell(f, runs); got != tt.want {
			t.Errorf("%v: %+v, want %+v", tt.in, got, tt.want)
		}
	}
}

func histogramOf(t *testing.T, ns ...int64) loadgen.Histogram {
	t.Helper()
	var h loadgen.Histogram
	for _, v := range ns {
		h.Record(time.Duration(v))
	}
	return h
}

func TestSpoilt(t *testing.T) {
	r := &runfile.Run{Load: &loadgen.Result{}}
	if got := Spoilt(r); got != "" {
		t.Error(got)
	}
	r.Disturbance = &runfile.Disturbance{Window: 10 * time.Second, Other: gctrace.Of(31.2), Steal: gctrace.Of(4.)}
	const want = "31% of this machine's processor time went to processes other than evenkeel, 4% of this machine's " +
		"processor time went to its hypervisor (steal)"
	if got := Spoilt(r); got != want {
		t.Error(got)
	}
	r = &runfile.Run{Load: &loadgen.Result{Rate: 100, Answered: 1000, Late: 500}} // the service kept the connections
	r.Load.Pacer.RecordN(50*time.Microsecond, 995)
	r.Load.Pacer.RecordN(3*time.Millisecond, 5)
	if got := Spoilt(r); got != "" {
		t.Errorf("late with one request in 200: %s", got)
	}
	r.Load.Pacer.RecordN(3*time.Millisecond, 6)
	if got := Spoilt(r); got != "the load generator itself was late with 1% of the requests, by 3.00 ms and more" {
		t.Error(got)
	}
}
