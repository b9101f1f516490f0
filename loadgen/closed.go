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

// redial is the wait after a failure to connect.
const redial = 10 * time.Millisecond

// closedLoop sends the next request of a connection after the answer to the last.
type closedLoop struct {
	e       *engine
	pool    *pool // nil: no HTTP/2
	streams []*stream
	lanes   []lane
	busy    atomic.Int64 // connections or streams

	// Of a phase.
	ctx  context.Context
	rec  *recorder
	most int64 // requests
	next atomic.Int64
	wg   sync.WaitGroup // of busy ones
}

func newClosedLoop(ctx context.Context, e *engine) *closedLoop {
	l := &closedLoop{e: e}
	if e.http2 {
		l.pool = newPool(ctx, e, l)
	}
	return l
}

func (l *closedLoop) run(ctx context.Context, p phase, rec *recorder) {
	l.ctx, l.rec, l.most = ctx, rec, math.MaxInt64
	l.next.Store(0)
	n := l.e.inFlight()
	if p.requests > 0 {
		l.most = p.requests
		n = int(min(int64(n), p.requests))
	}
	l.busy.Store(int64(n))
	l.wg.Add(n)
	for i := range n {
		if l.pool != nil {
			if i == len(l.streams) {
				l.streams = append(l.streams, l.pool.stream(i))
			}
			if j, ok := l.take(); ok {
				l.streams[i].begin(j, nil)
			}
			continue
		}
		if i == len(l.lanes) {
			l.lanes = append(l.lanes, l.e.newLane(i))
		}
		go l.work(l.lanes[i])
	}
	l.wg.Wait()
}

// take makes the next request. At the end it returns false.
func (l *closedLoop) take() (job, bool) {
	due := l.e.now()
	j := job{index: l.next.Add(1) - 1, due: due, rec: l.rec}
	// The first is sent, however late it is.
	if l.ctx.Err() == nil && (due < l.rec.until || j.index == 0) && j.index < l.most {
		return j, true
	}
	l.busy.Add(-1)
	l.wg.Done()
	return job{}, false
}

func (l *closedLoop) more(*stream) (job, bool) { return l.take() }

func (l *closedLoop) work(ln lane) {
	for {
		j, ok := l.take()
		if !ok {
			return
		}
		err := l.e.record(l.ctx, ln, j)
		if err != nil && (errors.As(err, new(dialError)) || errors.Is(err, syscall.ECONNREFUSED)) {
			sleep(l.ctx, redial)
		}
	}
}

func (l *closedLoop) load() (inFlight, backlog int64) { return l.busy.Load(), 0 }

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
