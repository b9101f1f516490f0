package loadgen

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestProgress has phases in which a busy machine did not get to five requests made longer.
func TestProgress(t *testing.T) {
	for _, o := range []Options{
		{Duration: 150 * time.Millisecond},
		{Requests: 300},
		{Requests: 300, Duration: time.Hour},
		{Duration: 150 * time.Millisecond, Rate: 500},
		{Requests: 75, Rate: 500},
	} {
		n := progresses(t, o)
		for ; n < 5 && o.Requests == 0 && o.Duration < 10*time.Second; n = progresses(t, o) {
			o.Duration *= 4
		}
		if n < 5 {
			t.Errorf("%+v: %d requests", o, n)
		}
	}
}

// progresses checks what is told of a run, and returns how many requests were measured: of less
// than five nothing is known.
func progresses(t *testing.T, o Options) int64 {
	t.Helper()
	// A request is held in each phase until a call has come, of which one knows of answers.
	var warmCalls, knowing, measured atomic.Int64
	var isMeasuring atomic.Bool
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(2 * time.Millisecond)
		switch {
		case !isMeasuring.Load():
			await(r, &warmCalls)
		case measured.Add(1) == 5:
			await(r, &knowing)
		}
		io.WriteString(w, "ok")
	})
	o.Targets, o.Connections, o.Timeout = []Target{{URL: srv.URL}}, 4, patience
	o.Warmup, o.ProgressInterval = 20*time.Millisecond, 10*time.Millisecond
	var calls []Progress // no lock: from one goroutine at a time, and none after Run
	measuring := 0
	o.OnMeasure = func() {
		measuring = len(calls)
		isMeasuring.Store(true)
	}
	o.OnProgress = func(p Progress) {
		calls = append(calls, p)
		switch {
		case p.Warmup:
			warmCalls.Add(1)
		case p.Done > 0:
			knowing.Add(1)
		}
	}
	r := run(t, o)
	if measured.Load() < 5 {
		return measured.Load()
	}
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
		if p.Fraction < last.Fraction || p.Fraction > 1 || p.Elapsed <= last.Elapsed || p.Done < last.Done ||
			p.Rate < 0 {
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
	return measured.Load()
}

// await returns when n has been counted up, or the request was given up.
func await(r *http.Request, n *atomic.Int64) {
	for n.Load() == 0 && r.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
}

// refusing is a Transport whose last request fails when some failure was told of.
type refusing struct{ sent, told atomic.Int64 }

func (f *refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.sent.Add(1) == 20 {
		await(r, &f.told)
	}
	return nil, syscall.ECONNREFUSED
}

func TestProgressOfFailures(t *testing.T) {
	var last Progress
	f := &refusing{}
	r := run(t, Options{
		Targets: []Target{{URL: "http://h/"}}, Connections: 2, Requests: 20, Transport: f, Timeout: patience,
		ProgressInterval: 5 * time.Millisecond, OnProgress: func(p Progress) {
			last = p
			f.told.Store(p.Done)
		},
	})
	if class(r, ClassRefused) != 20 || last.Done != last.Failed || last.Done == 0 || last.Rate != 0 || last.P50 != 0 {
		t.Errorf("%+v; %+v", last, r.Failures)
	}
}

// TestProgressOvertime has no interval end, and a service that answers when it is told that a phase
// is over. Phases in which a busy machine did not get to sending are made longer.
func TestProgressOvertime(t *testing.T) {
	for _, open := range []bool{false, true} {
		wrong := ""
		for phase := 20 * time.Millisecond; phase < 10*time.Second; phase *= 4 {
			if wrong = overtimes(t, open, phase); wrong == "" {
				break
			}
		}
		if wrong != "" {
			t.Errorf("open loop %v: %s", open, wrong)
		}
	}
}

// overtimes has one request in each of two phases, and returns what is wrong with what is told of them.
func overtimes(t *testing.T, open bool, phase time.Duration) (wrong string) {
	t.Helper()
	told := make(chan struct{}, 2) // one for each phase
	srv := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-told:
		case <-r.Context().Done():
		}
	})
	o := Options{
		Targets: []Target{{URL: srv.URL}}, Connections: 1, Timeout: patience, ProgressInterval: time.Hour,
		Warmup: phase, Duration: phase, Drain: time.Millisecond,
	}
	if open {
		o.Rate = .2 / phase.Seconds()
	}
	var warm, measured int
	o.OnProgress = func(p Progress) {
		if p.Warmup {
			warm++
		} else {
			measured++
		}
		if p.InFlight != 1 || p.Elapsed < o.Duration+overtime {
			wrong = fmt.Sprintf("%+v, want 1 in flight", p)
		}
		told <- struct{}{}
	}
	if run(t, o); wrong == "" && (warm != 1 || measured != 1) {
		wrong = fmt.Sprintf("%d calls in warm-up and %d after it, want one each", warm, measured)
	}
	return wrong
}

// TestProgressOfTheBacklog has requests fall due that no connection is free for, until it was told of all.
func TestProgressOfTheBacklog(t *testing.T) {
	all := make(chan struct{})
	srv := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-all:
		case <-r.Context().Done():
		}
	})
	told := false
	run(t, Options{
		Targets: []Target{{URL: srv.URL}}, Connections: 2, Rate: 1000, Requests: 7, Timeout: patience,
		ProgressInterval: time.Millisecond,
		OnProgress: func(p Progress) {
			if !told && p.InFlight == 2 && p.Backlog == 5 {
				told = true
				close(all)
			}
		},
	})
	if !told {
		t.Error("nothing was said of 2 requests in flight and 5 that are due")
	}
}
