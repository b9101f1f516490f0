package page

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
)

// judged has ten rounds of three variants with a floor: one is slower for certain; two of its runs
// were spoilt.
func judged(t *testing.T) *compare.Comparison {
	f := newFake(t)
	f.seconds, f.rate, f.collections, f.points = 1, 1200, 5, 20
	file := &runfile.File{Machine: runfile.Machine{OS: "linux", Cores: 2}, Floor: &runfile.Floor{}}
	noise := func() float64 { return 1 + .1*f.rnd.Float64() }
	run := func(label string, round, place int, slower float64) runfile.Run {
		r := f.run(label, round, time.Duration(slower*noise()*1e6))
		r.Round, r.Load.Started = round, r.Load.Started.Add(time.Duration(place)*time.Second)
		return r
	}
	for round := 1; round <= 10; round++ {
		file.Floor.First = append(file.Floor.First, run("default", round, 0, 1))
		file.Floor.Second = append(file.Floor.Second, run("default", round, 1, 1))
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
	if name := os.Getenv("EVENKEEL_PAGE"); name != "" { // to look at
		if err := os.WriteFile(name, []byte(p), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		`id="forest"`, `id="runs"`, `class="floorband"`, `class="interval v1"`, `class="dot v2 unsure"`, `class="ring"`,
		"GOGC=50: 27% of the processors’ time went to other programs", `<span class="ratio slower">`,
		`<th scope="col">floor</th>`,
	} {
		if !strings.Contains(strings.ReplaceAll(p, "&#39;", "’"), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	x := changesOf(c)
	if len(x.Spoilt) != 2 || x.Figure != "p99" || x.Base != "default" {
		t.Errorf("%+v", x)
	}
	if n := strings.Count(p, `class="dot v1`); n != len(x.Forest.Y)+1 {
		t.Errorf("%d paths of GOGC=50's dots, want one a figure and the runs'; %d figures", n, len(x.Forest.Y))
	}
	// In order: the place of a run says which of the round it was.
	for i, m := range inOrder(c, c.Row("p99")) {
		if m.run.Round != i/3+1 || (m.column+m.run.Round)%3 != i%3 {
			t.Errorf("run %d is of %s in round %d", i, m.run.Label, m.run.Round)
		}
	}
}

// TestChangesOfFew has too few runs for an interval, and one run of each.
func TestChangesOfFew(t *testing.T) {
	f := newFake(t)
	f.seconds, f.rate, f.collections, f.points = 1, 1200, 5, 20
	c := f.comparison(2, labelsN(2)...)
	if x := changesOf(c); x == nil || x.Forest.Message != "too few runs for an interval" {
		t.Errorf("%+v", x)
	}
	if x := changesOf(f.comparison(1, labelsN(2)...)); x != nil {
		t.Errorf("one run of each: %+v", x)
	}
}

func TestValueAxis(t *testing.T) {
	of := func(values ...float64) (list []measured) {
		for _, v := range values {
			list = append(list, measured{value: v})
		}
		return list
	}
	for _, tt := range []struct {
		in     []measured
		lo, hi float64
		log    bool
	}{
		{nil, 1, 2, false},
		{of(1, 1), 1, 1.02, false},
		{of(.95, 1.2), .95, 1.2, false},
		{of(1, 1000), 1, 1000, true},
	} {
		a, ticks := valueAxis(tt.in)
		if a.Lo > tt.lo+1e-9 || a.Hi < tt.hi-1e-9 || a.Log != tt.log || len(ticks) < 2 || len(ticks) > 12 {
			t.Errorf("%+v, ticks %v", a, ticks)
		}
	}
}
