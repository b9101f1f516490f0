package loadgen

import (
	"context"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
		epoch: time.Now(), newNap: newNap, reqs: []request{{target: Target{URL: "http://h/"}}}, round: []int{0},
	}
	ctx, cancel := context.WithCancel(t.Context())
	l := newOpenLoop(ctx, e)
	rec := newRecorder(true, e.now()-int64(time.Hour)) // all was due long ago
	once := sync.OnceFunc(func() { close(gaveUp) })
	rec.seen = func(int64, int64) { once() }
	l.run(ctx, phase{duration: 5 * time.Second}, rec)
	cancel()
	e.wg.Wait()
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

// The service of TestStall needs stallService a request and stands still for stallLength at the start of each
// stallPeriod, as bench/load's does: what arrives in a stall begins at its end.
const (
	stallPeriod  = time.Second
	stallLength  = 200 * time.Millisecond
	stallService = 20 * time.Millisecond
	stallRate    = 500
)

// stallQuantile is the computed latency that a share q of requests, due evenly over time, does not exceed.
func stallQuantile(q float64) time.Duration {
	calm := 1 - float64(stallLength)/float64(stallPeriod)
	return stallService + time.Duration(max(0, (q-calm)/(1-calm))*float64(stallLength))
}

// pipeListener is a network in memory, so that a bubble's clock is the only one.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { close(l.closed); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// TestStall measures a service that stalls, in a clock of its own, over each protocol: what the open loop says is
// the computed latency, from p50 to p99.9, within 5%. The machine has no say in it.
func TestStall(t *testing.T) {
	for name, o := range map[string]Options{
		"HTTP/1.1":              {Protocol: ProtocolHTTP1},
		"HTTP/2":                {Protocol: ProtocolHTTP2},
		"HTTP/2, streams":       {Protocol: ProtocolHTTP2, Connections: 2, Streams: 200},
		"HTTP/2, own goroutine": {Protocol: ProtocolHTTP2, Connections: 2, Streams: maxStreams},
		"a call":                {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testStall(t, o) })
		})
	}
}

func testStall(t *testing.T, o Options) {
	began := time.Now()
	serve := func() {
		wait := stallService
		if into := time.Since(began) % stallPeriod; into < stallLength {
			wait += stallLength - into
		}
		time.Sleep(wait)
	}
	srv := &http.Server{
		Handler:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { serve(); io.WriteString(w, "ok") }),
		Protocols: new(http.Protocols),
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
	l := &pipeListener{make(chan net.Conn), make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()

	o.Rate, o.Duration, o.Timeout = stallRate, 2*stallPeriod, time.Minute
	if o.Protocol == ProtocolAuto {
		o.Call = func(context.Context, int) error { serve(); return nil }
	} else {
		o.Targets = []Target{{URL: "http://service/"}}
	}
	e, err := newEngine(o)
	if err != nil {
		t.Fatal(err)
	}
	e.o.DialContext = l.dial
	e.newNap = func() func(int64) { return func(ns int64) { time.Sleep(time.Duration(ns)) } } // the bubble's clock
	r := e.load(t.Context())
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	<-served
	if r.Answered != 1000 || r.Failed != 0 {
		t.Fatalf("answered %d, %+v", r.Answered, r.Failures)
	}
	for _, q := range []float64{.5, .75, .85, .9, .95, .99, .999} {
		got, want := r.Latency.Quantile(q), stallQuantile(q)
		if math.Abs(float64(got)/float64(want)-1) > .05 {
			t.Errorf("p%v is %v, computed %v", 100*q, got, want)
		}
	}
	if r.Latency.Max() > stallLength+stallService+time.Millisecond {
		t.Errorf("a request took %v", r.Latency.Max())
	}
}
