package loadgen

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"evenkeel.dev"
)

// due returns when all requests of a phase of normal options are due.
func due(t *testing.T, o Options) (ns []int64) {
	t.Helper()
	o.Targets = []Target{{URL: "http://h"}}
	o, err := o.normal()
	if err != nil {
		t.Fatal(err)
	}
	s := o.schedule(phase{duration: o.Duration, requests: int64(o.Requests)})
	next := s.cursor()
	for at, ok := next(); ok; at, ok = next() {
		ns = append(ns, at)
	}
	again := s.cursor()
	for i, want := range ns {
		if at, ok := again(); at != want || !ok {
			t.Fatalf("request %d is due at %d by one cursor, at %d by the next", i, want, at)
		}
	}
	return ns
}

func TestStages(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		stages []Stage
		n      int           // how many
		half   time.Duration // when half of them are due
	}{
		"a step":             {[]Stage{{100, 100, s}, {300, 300, s}}, 400, s + s/3},
		"a ramp up":          {[]Stage{{0, 200, 2 * s}}, 200, 1414213562},
		"a ramp down":        {[]Stage{{200, 0, 2 * s}}, 200, 585786438},
		"a pause":            {[]Stage{{100, 100, s}, {0, 0, 5 * s}, {100, 100, s}}, 200, 6 * s},
		"up, there and down": {[]Stage{{0, 100, s}, {100, 100, s}, {100, 0, s}}, 200, 3 * s / 2},
		"one of many":        {slices.Repeat([]Stage{{10, 10, s / 10}}, 100), 100, 5 * s},
	} {
		ns := due(t, Options{Stages: c.stages})
		if len(ns) != c.n || !slices.IsSorted(ns) || ns[0] < 0 || ns[0] > int64(5*s)+1e7 {
			t.Errorf("%s: %d requests from %d, want %d in order", name, len(ns), ns[0], c.n)
			continue
		}
		if off := ns[c.n/2] - int64(c.half); off < -1000 || off > 1000 {
			t.Errorf("%s: half of the requests are due at %v, want %v", name, time.Duration(ns[c.n/2]), c.half)
		}
	}
	ns := due(t, Options{Stages: []Stage{{1000, 1000, time.Hour}}, Requests: 3})
	if !slices.Equal(ns, []int64{0, 1e6, 2e6}) {
		t.Errorf("three of a stage: %v", ns)
	}
}

// The count of a Poisson process has its mean for a variance, and its gaps are exponential; with
// stages too. All is seeded: it is computed once, and no matter of luck.
func TestPoisson(t *testing.T) {
	const runs, mean = 400, 100.0
	var sum, squares float64
	var short, all int
	for seed := range uint64(runs) {
		ns := due(t, Options{Rate: 100, Duration: time.Second, Arrivals: ArrivalsPoisson, Seed: seed + 1})
		sum += float64(len(ns))
		squares += float64(len(ns) * len(ns))
		for i := 1; i < len(ns); i++ {
			if all++; ns[i]-ns[i-1] < 6931472 { // the median gap
				short++
			}
		}
	}
	m := sum / runs
	v := squares/runs - m*m
	if math.Abs(m-mean) > 4*math.Sqrt(mean/runs) || v < mean*.7 || v > mean*1.4 {
		t.Errorf("%v requests of %v on average, with a variance of %v", m, mean, v)
	}
	if share := float64(short) / float64(all); math.Abs(share-.5) > .02 {
		t.Errorf("%v of the gaps are below the median", share)
	}
	up := Options{Stages: []Stage{{0, 2e4, time.Second}, {2e4, 2e4, time.Second}}, Arrivals: ArrivalsPoisson, Seed: 7}
	ns := due(t, up)
	if n := float64(len(ns)); math.Abs(n-3e4) > 4*math.Sqrt(3e4) {
		t.Errorf("%v requests of 30,000", n)
	}
	first, _ := slices.BinarySearch(ns, 1e9)
	if math.Abs(float64(first)-1e4) > 4*math.Sqrt(1e4) {
		t.Errorf("%d of 10,000 in the ramp", first)
	}
	if !slices.Equal(ns, due(t, up)) {
		t.Error("the same seed gives other times")
	}
	if up.Seed++; slices.Equal(ns, due(t, up)) {
		t.Error("another seed gives the same times")
	}
}

func TestTimes(t *testing.T) {
	ms := time.Millisecond
	times := []time.Duration{0, 0, 3 * ms, 50 * ms, 50 * ms, 90 * ms}
	want := []int64{0, 0, 3e6, 50e6, 50e6, 90e6}
	if ns := due(t, Options{Times: times}); !slices.Equal(ns, want) {
		t.Errorf("due at %v, want %v", ns, want)
	}
	if ns := due(t, Options{Times: times, Duration: 50 * ms}); !slices.Equal(ns, want[:3]) {
		t.Errorf("due at %v, want %v", ns, want[:3])
	}
	if ns := due(t, Options{Times: times, Requests: 4}); !slices.Equal(ns, want[:4]) {
		t.Errorf("due at %v, want %v", ns, want[:4])
	}
}

// Runs say how their requests came.
func TestArrivalsInResult(t *testing.T) {
	srv := serve(t, answerOK)
	for name, c := range map[string]struct {
		o    Options
		n    int64 // 0: any
		rate float64
	}{
		"constant": {Options{Rate: 1000, Requests: 20}, 20, 1000},
		"poisson":  {Options{Rate: 1000, Requests: 20, Arrivals: ArrivalsPoisson}, 20, 1000},
		"seeded":   {Options{Rate: 1000, Requests: 20, Arrivals: ArrivalsPoisson, Seed: 5}, 20, 1000},
		"stages": {
			Options{Stages: []Stage{{0, 200, 100 * time.Millisecond}, {200, 200, 100 * time.Millisecond}}},
			30,
			150,
		},
		"times": {Options{Times: []time.Duration{0, 1e6, 1e6, 8e6}, Warmup: 20 * time.Millisecond}, 4, 500},
	} {
		c.o.Targets = []Target{{URL: srv.URL}}
		r := run(t, c.o)
		wantAll(t, r, c.n)
		random := c.o.Arrivals == ArrivalsPoisson
		if (r.Seed != 0) != random || c.o.Seed != 0 && r.Seed != c.o.Seed || r.Rate != c.rate ||
			len(r.Stages) != len(c.o.Stages) {
			t.Errorf("%s: rate %v, seed %d, stages %v", name, r.Rate, r.Seed, r.Stages)
		}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back Result
		if err := json.Unmarshal(b, &back); err != nil || back.Arrivals != r.Arrivals || back.Seed != r.Seed ||
			!slices.Equal(back.Stages, r.Stages) {
			t.Errorf("%s: %v, %v, %v of %s", name, err, back.Arrivals, back.Seed, b)
		}
	}
}

func TestArrivalErrors(t *testing.T) {
	for _, c := range []struct {
		o      Options
		option string
	}{
		{Options{Arrivals: 9, Rate: 1}, "Arrivals"},
		{Options{Arrivals: ArrivalsPoisson}, "Arrivals"},
		{Options{Arrivals: ArrivalsTimes}, "Times"},
		{Options{Times: []time.Duration{2, 1}}, "Times"},
		{Options{Times: []time.Duration{-1, 1}}, "Times"},
		{Options{Times: []time.Duration{25 * time.Hour}}, "Times"},
		{Options{Times: []time.Duration{1}, Stages: []Stage{{1, 1, 1}}}, "Times"},
		{Options{Times: []time.Duration{1}, Arrivals: ArrivalsPoisson}, "Times"},
		{Options{Times: []time.Duration{1}, Rate: 1}, "Rate"},
		{Options{Stages: []Stage{{1, 1, time.Second}}, Rate: 1}, "Rate"},
		{Options{Stages: []Stage{{1, 1, time.Second}}, Duration: 1}, "Duration"},
		{Options{Stages: []Stage{{1, 1, time.Second}, {1, 1, 0}}}, "Stages[1]"},
		{Options{Stages: []Stage{{1, 1, 13 * time.Hour}, {1, 1, 13 * time.Hour}}}, "Stages[1]"},
		{Options{Stages: []Stage{{1, -1, time.Second}}}, "Stages[0]"},
		{Options{Stages: []Stage{{math.NaN(), 1, time.Second}}}, "Stages[0]"},
		{Options{Stages: []Stage{{1, 2e6, time.Second}}}, "Stages[0]"},
		{Options{Stages: []Stage{{0, 0, time.Second}}}, "Stages"},
		{Options{Stages: make([]Stage, maxStages+1)}, "Stages"},
	} {
		c.o.Targets = []Target{{URL: "http://h"}}
		var oe *evenkeel.OptionError
		if err := Check(c.o); !errors.As(err, &oe) || oe.Option != c.option {
			t.Errorf("%+v: %v; want one of %s", c.o, err, c.option)
		}
	}
	var a Arrivals
	if err := a.UnmarshalText([]byte("bursty")); err == nil {
		t.Error("an unknown process is read")
	}
	if _, err := Arrivals(9).MarshalText(); err == nil || Arrivals(9).String() != "Arrivals(9)" {
		t.Error("an unknown process is written")
	}
}
