package loadgen

import (
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	g := &gauge{work: 2 * time.Millisecond}
	srv := serve(t, g.ServeHTTP)
	for _, o := range []Options{
		{Duration: 150 * time.Millisecond},
		{Requests: 300},
		{Requests: 300, Duration: time.Hour},
		{Duration: 150 * time.Millisecond, Rate: 500},
		{Requests: 75, Rate: 500},
	} {
		o.Targets, o.Connections = []Target{{URL: srv.URL}}, 4
		o.Warmup, o.ProgressInterval = 100*time.Millisecond, 10*time.Millisecond
		var calls []Progress // no lock: from one goroutine at a time, and none after Run
		measuring := 0
		o.OnMeasure = func() { measuring = len(calls) }
		o.OnProgress = func(p Progress) { calls = append(calls, p) }
		r := run(t, o)
		if measuring == 0 || measuring == len(calls) {
			t.Fatalf("%+v: %d calls in warm-up, %d in all", o, measuring, len(calls))
		}
		var last Progress
		for i, p := range calls {
			if i == measuring {
				last = Progress{}
			}
			if p.Warmup != (i < measuring) {
				t.Errorf("call %d of %d: warm-up %v, and OnMeasure came before %d", i, len(calls), p.Warmup, measuring)
			}
			if p.Fraction < last.Fraction || p.Fraction > 1 || p.Elapsed <= last.Elapsed || p.Done < last.Done || p.Rate < 0 {
				t.Errorf("after %+v came %+v", last, p)
			}
			if p.Failed != 0 || p.Done > 0 && (p.P50 < time.Millisecond || p.P99 < p.P50) {
				t.Errorf("%+v", p)
			}
			last = p
		}
		if last.Done > r.Answered || last.Done == 0 || last.Fraction == 0 {
			t.Errorf("the last was %+v of %d", last, r.Answered)
		}
	}
}

func TestProgressOfFailures(t *testing.T) {
	var last Progress
	r := run(t, Options{
		Targets: []Target{{URL: "http://" + refusedAddr(t)}}, Connections: 2, Requests: 20,
		ProgressInterval: 5 * time.Millisecond, OnProgress: func(p Progress) { last = p },
	})
	if class(r, ClassRefused) != 20 || last.Done != last.Failed || last.Done == 0 || last.Rate != 0 || last.P50 != 0 {
		t.Errorf("%+v; %+v", last, r.Failures)
	}
}
