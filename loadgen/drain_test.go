package loadgen

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience is how long anything may take on a busy machine.
const patience = time.Minute

// The backlog is given up Drain after the last request was due, while what is in flight may
// still be answered: here it is only once a request was given up.
func TestDrain(t *testing.T) {
	for _, warmup := range []time.Duration{0, 20 * time.Millisecond} {
		gaveUp := make(chan struct{})
		once := sync.OnceFunc(func() { close(gaveUp) })
		var measuring atomic.Bool
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if measuring.Load() {
				<-gaveUp
			}
			io.WriteString(w, "ok")
		})
		defer once()
		r := run(t, Options{
			Targets: []Target{{URL: srv.URL}}, Connections: 2, Rate: 2000, Duration: 100 * time.Millisecond, Warmup: warmup,
			Drain: time.Millisecond, Timeout: patience,
			OnMeasure: func() { measuring.Store(true) },
			OnLatency: func(time.Time, time.Duration) { once() },
		})
		if r.Answered != 2 || class(r, ClassUnsent) != 198 || r.Failed != 198 {
			t.Errorf("warm-up %v: %d answered, %+v; want 2, and 198 given up", warmup, r.Answered, r.Failures)
		}
	}
}

// A pacer that is late itself does not make a phase longer: what it had no time for is unsent, but
// for the first.
func TestDrainOfALatePacer(t *testing.T) {
	e := &engine{
		o:     Options{Transport: instant{}, Connections: 2, Rate: 1000, Timeout: patience, Drain: time.Second},
		epoch: time.Now(), reqs: []request{{target: Target{URL: "http://h/"}}},
	}
	ctx, cancel := context.WithCancel(t.Context())
	l := newOpenLoop(ctx, e)
	rec := newRecorder(true, e.now()-int64(time.Hour)) // all was due long ago
	l.run(ctx, phase{duration: 5 * time.Second}, rec)
	cancel()
	l.wait()
	if r := rec.result(); r.Answered != 1 || class(r, ClassUnsent) != 4999 {
		t.Errorf("%d answered, %+v; want the first, and 4,999 given up", r.Answered, r.Failures)
	}
}

// However short the time is, one request is sent: a run says something.
func TestDurationOfNothing(t *testing.T) {
	srv := serve(t, answerOK)
	for _, rate := range []float64{0, 1000} {
		wantAll(t, run(t, Options{Targets: []Target{{URL: srv.URL}}, Duration: 1, Rate: rate}), 1)
	}
}
