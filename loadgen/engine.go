package loadgen

import (
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
	epoch    time.Time
	dialer   net.Dialer
	newNap   func() func(ns int64) // of the pacer, for a goroutine of its own
	connects atomic.Int64

	mu    sync.Mutex         // guards conns
	conns map[*conn]struct{} // open ones; nil when the run is over
}

// newEngine prepares a run by options that are normal.
func newEngine(o Options) (*engine, error) {
	reqs, hosts, err := prepare(o)
	if err != nil {
		return nil, err
	}
	e := &engine{o: o, reqs: reqs, hosts: hosts, epoch: time.Now(), conns: map[*conn]struct{}{}, newNap: newNap}
	return e, nil
}

// now returns nanoseconds of monotonic time.
func (e *engine) now() int64 { return int64(time.Since(e.epoch)) }

func (e *engine) request(j job) *request { return &e.reqs[j.index%int64(len(e.reqs))] }

// phase is one stretch of load: the warm-up or the measurement.
type phase struct {
	warmup   bool
	requests int64         // 0: no bound
	duration time.Duration // 0: no bound
}
