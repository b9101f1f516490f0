package page

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

// judged has ten rounds of three variants: one is slower for certain; two of its runs
// were spoilt.
func judged(t *testing.T) *compare.Comparison {
	f := newFake(t)
	f.seconds, f.rate, f.collections, f.points = 1, 1200, 5, 20
	file := &runfile.File{Machine: runfile.Machine{OS: "linux", Cores: 2}}
	noise := func() float64 { return 1 + .1*f.rnd.Float64() }
	run := func(label string, round, place int, slower float64) runfile.Run {
		r := f.run(label, round, time.Duration(slower*noise()*1e6))
		r.Round, r.Load.Started = round, r.Load.Started.Add(time.Duration(place)*time.Second)
		return r
	}
	for round := 1; round <= 10; round++ {
		for i, v := range []struct {
			label  string
			slower float64
		}{{"default", 1}, {"GOGC=50", 1.6}, {"rebuilt", 1.01}} {
			file.Runs = append(file.Runs, run(v.label, round, 2+(i+round)%3, v.slower))
		}
	}
	for _, i := range []int{7, 22} {
		if err := json.Unmarshal(fmt.Appendf(nil, `{"window_ns": 10000000000, "other_percent": %d}`, 20+i),
			&file.Runs[i].Disturbance); err != nil {
			t.Fatal(err)
		}
	}
	return compare.Files([]*runfile.File{file}, []string{"run.json"})
}

func TestChanges(t *testing.T) {
	c := judged(t)
	p := pageOf(t, c)
	for _, want := range []string{
		`id="forest"`, `class="interval v1"`, `class="dot v2 unsure"`,
		"% of this machine’s processor time went to processes other than evenkeel", `<span class="ratio slower">`,
	} {
		if !strings.Contains(strings.ReplaceAll(p, "&#39;", "’"), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if base := "A dot is the ratio to default, "; !strings.Contains(p, base) {
		t.Errorf("the page lacks %q", base)
	}
	x := forest(c)
	if n := strings.Count(p, `class="dot v1`); n != len(x.Y) {
		t.Errorf("%d paths of GOGC=50's dots, want one a figure; %d figures", n, len(x.Y))
	}
}

// TestChangesOfFew has too few runs for an interval, and one run of each.
func TestChangesOfFew(t *testing.T) {
	f := newFake(t)
	f.seconds, f.rate, f.collections, f.points = 1, 1200, 5, 20
	c := f.comparison(2, labelsN(2)...)
	if x := forest(c); x == nil || x.Message != "too few runs for an interval" {
		t.Errorf("%+v", x)
	}
	if x := forest(f.comparison(1, labelsN(2)...)); x != nil {
		t.Errorf("one run of each: %+v", x)
	}
}

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
