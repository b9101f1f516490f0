package loadgen

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// redial is how long a worker of the closed loop waits after it could not connect, so that a
// service that is down is not hammered.
const redial = 10 * time.Millisecond

// closedLoop sends the next request of a connection when the last is answered.
type closedLoop struct {
	e     *engine
	lanes []lane
	busy  atomic.Int64 // connections that have a request to send or to be answered
}

func (l *closedLoop) run(ctx context.Context, p phase, rec *recorder) {
	until := int64(math.MaxInt64)
	if p.duration > 0 {
		until = rec.from + int64(p.duration)
	}
	n := l.e.o.Connections
	if p.requests > 0 {
		n = int(min(int64(n), p.requests))
	} else {
		p.requests = math.MaxInt64
	}
	for len(l.lanes) < n {
		l.lanes = append(l.lanes, l.e.newLane(len(l.lanes)))
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	l.busy.Store(int64(n))
	for _, ln := range l.lanes[:n] {
		wg.Go(func() {
			defer l.busy.Add(-1)
			for ctx.Err() == nil {
				due := l.e.now()
				j := job{index: next.Add(1) - 1, due: due}
				// The first is sent however late it is.
				if due >= until && j.index > 0 || j.index >= p.requests {
					return
				}
				err := l.e.record(ctx, ln, j, rec)
				if err != nil && (errors.As(err, new(dialError)) || errors.Is(err, syscall.ECONNREFUSED)) {
					sleep(ctx, redial)
				}
			}
		})
	}
	wg.Wait()
}

func (l *closedLoop) load() (inFlight, backlog int64) { return l.busy.Load(), 0 }

func (l *closedLoop) wait() {}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
