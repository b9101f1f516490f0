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

// The backlog is given up Drain after the last request was due, whatever path the requests take,
// and is not passed over in silence. What is in flight may still be answered: here only once a
// request was given up.
func TestDrain(t *testing.T) {
	var gaveUp atomic.Pointer[chan struct{}]
	var measuring atomic.Bool
	handler := func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if measuring.Load() {
			<-*gaveUp.Load()
		}
		io.WriteString(w, "ok")
	}
	paths := openPaths(serve(t, handler).URL, serve(t, handler).URL)
	paths["warm-up"] = paths["direct"]
	for name, o := range paths {
		c := make(chan struct{})
		gaveUp.Store(&c)
		once := sync.OnceFunc(func() { close(c) })
		defer once()
		measuring.Store(false)
		if name == "warm-up" {
			o.Warmup = 20 * time.Millisecond
		}
		o.Connections, o.Rate, o.Duration, o.Drain, o.Timeout = 2, 2000, 100*time.Millisecond, 5*time.Millisecond,
			patience
		o.OnMeasure = func() { measuring.Store(true) }
		o.OnLatency = func(time.Time, time.Duration) { once() }
		r := run(t, o)
		// Two, unless the pacer itself was late.
		if r.Answered < 1 || r.Answered > 2 || class(r, ClassUnsent) != 200-r.Answered || r.Failed != 200-r.Answered {
			t.Errorf("%s: %d answered, %+v; want 2, and 198 given up", name, r.Answered, r.Failures)
		}
		if n := r.Latency.Count() - countBelow(&r.Latency, o.Drain); n < r.Failed {
			t.Errorf("%s: %d requests waited %v, want all that were given up", name, n, o.Drain)
		}
		if tr, ok := o.Transport.(*http.Transport); ok {
			tr.CloseIdleConnections()
		}
	}
}

// A pacer that is late itself does not make a phase longer: what it had no time for is unsent, but
// for the first.
func TestDrainOfALatePacer(t *testing.T) {
	gaveUp := make(chan struct{})
	e := &engine{
		o: Options{
			Transport: roundTrip(func() { <-gaveUp }), Connections: 2, Rate: 1000, Timeout: patience,
			Drain: time.Second,
		},
		epoch: time.Now(), newNap: newNap, reqs: []request{{target: Target{URL: "http://h/"}}},
	}
	ctx, cancel := context.WithCancel(t.Context())
	l := newOpenLoop(ctx, e)
	rec := newRecorder(true, e.now()-int64(time.Hour)) // all was due long ago
	once := sync.OnceFunc(func() { close(gaveUp) })
	rec.seen = func(int64, int64) { once() }
	l.run(ctx, phase{duration: 5 * time.Second}, rec)
	cancel()
	l.wait()
	if r := rec.result(); r.Answered != 1 || class(r, ClassUnsent) != 4999 {
		t.Errorf("%d answered, %+v; want the first, and 4,999 given up", r.Answered, r.Failures)
	}
}

// roundTrip is a Transport that answers when it returns.
type roundTrip func()

func (f roundTrip) RoundTrip(*http.Request) (*http.Response, error) {
	f()
	return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
}

// However short the time is, one request is sent: a run says something.
func TestDurationOfNothing(t *testing.T) {
	srv := serve(t, answerOK)
	for _, rate := range []float64{0, 1000} {
		wantAll(t, run(t, Options{Targets: []Target{{URL: srv.URL}}, Duration: 1, Rate: rate}), 1)
	}
}
