package recorder

import (
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestMeasuredInPlace tests that tracing costs the larger of model and measurement until a dozen
// times on and off measure it, and that the interval covers the truth.
func TestMeasuredInPlace(t *testing.T) {
	const (
		rate  = 1000
		usual = 200 * time.Microsecond // of a request, with a random error of 5%
		model = 6 * time.Millisecond   // per second
	)
	for name, truth := range map[string]time.Duration{
		"cheaper": 3 * time.Millisecond,
		"dearer":  20 * time.Millisecond,
	} {
		for seed := range uint64(20) {
			lot := rand.New(rand.NewPCG(seed, 1))
			b := budget{event: model * 55 / (10 * rate * requestBytes), perRequest: requestBytes}
			of := b.model(rate, 0, time.Second)
			for i := range 24 * 10 {
				on := i/10%2 == 1
				cpu := time.Duration(rate * float64(usual) * (1 + .05*lot.NormFloat64()))
				p := part{on: on, cpu: cpu, requests: rate, passed: time.Second}
				if on {
					p.cpu, p.model = cpu+truth, of
				}
				b.pairs.add(p)
				_, _, known := b.pairs.ratio()
				if got := b.tracing(rate, 0, time.Second); !known && got < of {
					t.Fatalf("%s, seed %d: it is not known, and %v are less than the model's %v", name, seed, got, of)
				}
			}
			b.pairs.end(true)
			_, within, known := b.pairs.ratio()
			got := b.tracing(rate, 0, time.Second)
			if !known && name == "dearer" {
				continue // the random error is large compared with it in some runs: then it is not known
			}
			if d := (got - truth).Abs(); known && d > time.Duration(2*within*float64(of)) {
				t.Errorf("%s, seed %d: %v a second, known to ± %v, and it is %v", name, seed, got,
					time.Duration(within*float64(of)), truth)
			}
		}
	}
	var p pairs
	for i := range 100 { // too short to measure
		p.add(part{on: i%2 == 0, cpu: time.Second, model: time.Second, requests: 1000, passed: time.Second})
	}
	if _, _, known := p.ratio(); known || p.n > 0 {
		t.Errorf("%+v", p)
	}
}

// TestCostIsWithin tests that the recorder's costs never exceed the CPU time of the process,
// whatever the model says.
func TestCostIsWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.busy = .0001 // and its model takes 25 times as much
		r := begin(t, f, Options{CPU: 1})
		for range 60 {
			time.Sleep(time.Second)
			if s := r.Stats(); s.Cost.Total() > s.CPU {
				t.Fatalf("%v of %v", s.Cost.Total(), s.CPU)
			}
		}
		end(t, r)
	})
}

// TestSaysOff tests that page, JSON and log say for how much of the time the budget had the
// recorder off, and name the option.
func TestSaysOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.busy, f.parked = .1, 100_000
		var log strings.Builder
		r := begin(t, f, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		defer end(t, r)
		for r.requests.Add(10); time.Since(f.began) < 2*time.Hour+time.Minute || r.Stats().On; r.requests.Add(10) {
			time.Sleep(time.Second)
		}
		s := r.Stats()
		if s.Off < s.Passed/2 || s.Off+s.Covered > s.Passed {
			t.Errorf("off for %v, on for %v of %v", s.Off, s.Covered, s.Passed)
		}
		for what, text := range map[string]string{
			"page": fetched(r, "/"), "JSON": fetched(r, "/stats"),
			"log": log.String(),
		} {
			if !strings.Contains(text, "Options.CPU") || !strings.Contains(text, "5%") {
				t.Errorf("%s: %s", what, text)
			}
		}
		if n := strings.Count(log.String(), "Options.CPU"); n < 1 || n > 2 {
			t.Errorf("it is logged %d times", n)
		}
	})
}

func fetched(r *Recorder, path string) string {
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Body.String()
}

// TestMeasuredAgain tests that requests are not charged for ever with what a program records at its
// start.
func TestMeasuredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		const rate = 100
		f.perByte = func() int64 {
			s := time.Since(f.began).Seconds()
			return int64(400_000*min(s, 1) + rate*requestBytes*s)
		}
		r := begin(t, f, Options{CPU: 1})
		defer end(t, r)
		var before time.Duration
		for i := range 180 {
			if i == 120 {
				before = r.Stats().Cost.Tracing
			}
			r.requests.Add(rate)
			time.Sleep(time.Second)
		}
		events := rate * requestBytes / eventBytes
		got, want := (r.Stats().Cost.Tracing-before)/60, secondCost+time.Duration(events*float64(f.event))
		if got > want*12/10 {
			t.Errorf("it takes %v a second, and is charged %v", want, got)
		}
	})
}
