package loadgen

import (
	"context"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

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
		"HTTP/2, own goroutine": {Protocol: ProtocolHTTP2, Connections: 2, Streams: MaxStreams},
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
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: MaxStreams},
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
	o, err := o.normal()
	if err != nil {
		t.Fatal(err)
	}
	e, err := newEngine(o)
	if err != nil {
		t.Fatal(err)
	}
	e.dialContext = l.dial
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
