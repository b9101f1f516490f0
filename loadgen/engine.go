package loadgen

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// engine is what the loops share.
type engine struct {
	o        Options
	reqs     []request
	hosts    []host
	round    []int // indexes into reqs, again and again. nil: one after the other
	classes  classes
	epoch    time.Time
	http2    bool // speak HTTP/2. Before negotiate returns: it may be spoken
	connects atomic.Int64

	newNap      func() func(ns int64) // makes the pacer's sleep, in the pacer's goroutine
	dialContext func(ctx context.Context, network, address string) (net.Conn, error)

	mu    sync.Mutex             // guards the rest
	conns map[io.Closer]struct{} // open ones. nil after the run
	first []net.Conn             // by host: negotiate's, which the run has not used yet
}

// newEngine prepares a run. The options are normal.
func newEngine(o Options) (*engine, error) {
	reqs, hosts, err := prepare(o)
	if err != nil {
		return nil, err
	}
	e := &engine{o: o, reqs: reqs, hosts: hosts, epoch: time.Now(), conns: map[io.Closer]struct{}{}}
	if e.newNap, e.dialContext = newNap, o.DialContext; o.DialContext == nil {
		e.dialContext = new(net.Dialer).DialContext
	}
	if e.round, e.classes, err = mix(o.Targets); err != nil {
		return nil, err
	}
	e.http2, err = e.preparedHTTP2()
	return e, err
}

// now returns nanoseconds of monotonic time.
func (e *engine) now() int64 { return int64(time.Since(e.epoch)) }

func (e *engine) request(j job) *request { return &e.reqs[e.target(j)] }

func (e *engine) target(j job) int {
	if e.round != nil {
		return e.round[j.index%int64(len(e.round))]
	}
	return int(j.index % int64(len(e.reqs)))
}

func (e *engine) inFlight() int {
	if e.http2 {
		return e.o.Connections * e.o.Streams
	}
	return e.o.Connections
}

// phase is the warm-up or the measurement.
type phase struct {
	warmup   bool
	requests int64         // 0: no limit
	duration time.Duration // 0: no limit
}
