package page

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

// fake makes up runs that look measured: log-normal latencies, and slower ones while a
// collection runs.
type fake struct {
	t           *testing.T
	rnd         *rand.Rand
	seconds     int
	rate        int           // requests a second
	collections int           // in all
	wall        time.Duration // of a collection
	live        int64         // bytes
	points      int           // of the series
}

func newFake(t *testing.T) *fake {
	return &fake{
		t: t, rnd: rand.New(rand.NewPCG(1, 2)), seconds: 20, rate: 2500, collections: 60,
		wall: 30 * time.Millisecond, live: 64 << 20, points: 200,
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

// run returns a run whose median latency is about median.
func (f *fake) run(label string, repeat int, median time.Duration) runfile.Run {
	n := f.seconds * f.rate
	window := time.Duration(f.seconds) * time.Second
	all := make([]int64, n)
	step := window / time.Duration(f.points)
	bins := make([][]time.Duration, f.points) // a histogram for each takes the race detector seconds
	for i := range all {
		at := time.Duration(i) * window / time.Duration(n)
		ns := float64(median) * math.Exp(.35*f.rnd.NormFloat64())
		if f.collections > 0 && at%(window/time.Duration(f.collections)) < f.wall && f.rnd.IntN(4) == 0 {
			ns += f.rnd.Float64() * float64(f.wall)
		}
		all[i] = int64(ns)
		bin := &bins[min(int(at/step), f.points-1)]
		*bin = append(*bin, time.Duration(all[i]))
	}
	l := &loadgen.Result{
		Targets: []string{"GET http://127.0.0.1:8080/search?q=go"}, Connections: 50, Timeout: 30 * time.Second,
		Started:  time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(repeat) * time.Minute),
		Duration: window, Answered: int64(n), Statuses: map[int]int64{200: int64(n)},
		Latency: histogramOf(f.t, all...), Series: loadgen.Series{Interval: step},
	}
	for _, b := range bins {
		p := loadgen.Point{Count: int64(len(b))}
		if slices.Sort(b); len(b) > 0 {
			p.P50, p.P99, p.Max = b[(len(b)+1)/2-1], b[(len(b)*99+99)/100-1], b[len(b)-1]
		}
		l.Series.Points = append(l.Series.Points, p)
	}
	return runfile.Run{
		Label: label, Repeat: repeat, Load: l, GC: f.gc(window),
		Command: []string{"./search", "-index", "/srv/index"}, Env: []string{"GOGC=" + label},
	}
}

func (f *fake) gc(window time.Duration) *runfile.GC {
	gc := &runfile.GC{}
	gc.Summary.Collections = int64(f.collections)
	every := window / time.Duration(max(f.collections, 1))
	for i := range f.collections {
		live := f.live + f.rnd.Int64N(f.live/8)
		gc.Collections = append(gc.Collections, runfile.Collection{
			At: time.Duration(i) * every, Wall: f.wall + time.Duration(f.rnd.Int64N(int64(f.wall))),
			Pause: time.Microsecond * 200, Before: live * 2, After: live*2 + f.live/16, Live: live,
		})
	}
	return gc
}

// fakeComparison has a column a label, each slower than the one before.
func (f *fake) comparison(repeats int, labels ...string) *compare.Comparison {
	file := &runfile.File{Version: runfile.Version, Tool: "evenkeel test", Machine: runfile.Machine{
		OS: "linux", Arch: "amd64", Kernel: "6.8.0",
		CPU: "Example CPU", Cores: 8, MemoryBytes: 16 << 30, Go: "go1.26",
	}}
	for i, l := range labels {
		for k := range repeats {
			file.Runs = append(file.Runs, f.run(l, k+1, time.Duration(float64(time.Millisecond)*math.Pow(1.6,
				float64(i)))))
		}
	}
	return compare.Files([]*runfile.File{file}, []string{"run.json"})
}

func labelsN(n int) []string {
	var ls []string
	for i := range n {
		ls = append(ls, fmt.Sprintf("GOGC=%d", 50<<i))
	}
	return ls
}
