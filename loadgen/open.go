package loadgen

import (
	"context"
	"math"
	"sync"
	"time"
)

// directBytes is the largest request that the pacer writes itself: it fits any socket's empty
// send buffer, so that the write cannot block the schedule.
const directBytes = 4 << 10

// openLoop sends requests when they are due. The pacer hands each to an idle worker, to a new
// one while there are fewer than Connections, or to the backlog, which workers take from when
// they have an answer.
//
// Lock order: openLoop.mu, then worker.mu.
type openLoop struct {
	e      *engine
	ctx    context.Context // of the run; workers outlive a phase
	direct bool            // the pacer writes requests itself
	wg     sync.WaitGroup

	mu      sync.Mutex // guards all below
	rec     *recorder
	due     func(index int64) int64
	head    int64     // the backlog is the jobs head <= index < tail
	tail    int64     // jobs before it were due
	idle    []*worker // last in, first out: hot connections first
	workers int
	pending int64         // due and not ended
	quiet   chan struct{} // closed when drained; nil while pacing
}

func newOpenLoop(ctx context.Context, e *engine) *openLoop {
	l := &openLoop{e: e, ctx: ctx, direct: e.o.Transport == nil && len(e.hosts) == 1}
	for _, r := range e.reqs {
		l.direct = l.direct && len(r.wire) <= directBytes
	}
	return l
}

func (l *openLoop) run(ctx context.Context, p phase, rec *recorder) {
	n := int64(math.MaxInt64)
	if p.requests > 0 {
		n = p.requests
	}
	if p.duration > 0 {
		n = min(n, requestsIn(p.duration, l.e.o.Rate))
	}
	interval := 1e9 / l.e.o.Rate
	l.mu.Lock()
	l.rec, l.head, l.tail, l.quiet = rec, 0, 0, nil
	l.due = func(i int64) int64 { return rec.from + int64(float64(i)*interval) }
	l.mu.Unlock()

	// A phase with a duration ends Drain after it, even if the pacer itself is late.
	end := int64(math.MaxInt64)
	if p.duration > 0 {
		end = rec.from + int64(p.duration+l.e.o.Drain)
	}
	paced := make(chan struct{})
	go func() {
		defer close(paced)
		nap := newNap()
		i := int64(0)
		for i < n && (i == 0 || l.e.now() < end) && l.e.sleepUntil(ctx, l.due(i), nap) {
			l.release()
			i++
		}
		if ctx.Err() == nil {
			l.behind(n - i)
		}
	}()
	<-paced
	l.drain(ctx, end)
}

// behind puts the last n requests of a phase, which the pacer had no time for, into the backlog.
func (l *openLoop) behind(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail += n
	l.pending += n
}

// requestsIn returns how many requests at a rate are due before d is over. What rounding may
// put a millionth of an interval before the end was meant for the end.
func requestsIn(d time.Duration, rate float64) int64 {
	return max(1, int64(math.Ceil(float64(d)*rate/1e9-1e-6)))
}

// sleepUntil reports whether the time came before ctx ended.
func (e *engine) sleepUntil(ctx context.Context, t int64, nap func(ns int64)) bool {
	const slice = int64(50 * time.Millisecond) // how long ctx may go unseen
	for ctx.Err() == nil {
		left := t - e.now()
		if left <= 0 {
			return true
		}
		nap(min(left, slice))
	}
	return false
}

// release makes the next job due.
func (l *openLoop) release() {
	l.mu.Lock()
	l.tail++
	l.pending++
	j := job{index: l.head, due: l.due(l.head)} // the oldest, which may not be the newest
	switch n := len(l.idle); {
	case n > 0:
		l.head++
		w := l.idle[n-1]
		l.idle = l.idle[:n-1]
		if !l.direct {
			l.mu.Unlock()
			w.jobs <- j
			return
		}
		rec := l.rec
		w.mu.Lock()
		l.mu.Unlock()
		w.assign(j, rec)
		w.mu.Unlock()
	case l.workers < l.e.o.Connections:
		l.head++
		l.workers++
		rec := l.rec
		l.mu.Unlock()
		w := &worker{l: l, lane: l.e.newLane(), jobs: make(chan job, 1)}
		l.wg.Go(func() { w.run(j, rec) })
	default:
		l.mu.Unlock()
	}
}

// next ends a worker's job and gives it the oldest of the backlog. Without one the worker is
// idle if it can be, else it has to end.
func (l *openLoop) next(w *worker) (j job, rec *recorder, ok, idle bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending--
	if l.pending == 0 && l.quiet != nil {
		close(l.quiet)
		l.quiet = nil
	}
	switch {
	case l.ctx.Err() != nil:
		l.workers--
	case l.head < l.tail:
		j = job{index: l.head, due: l.due(l.head)}
		l.head++
		return j, l.rec, true, false
	case w.lane.ready():
		l.idle = append(l.idle, w)
		return job{}, nil, false, true
	default:
		l.workers--
	}
	return job{}, nil, false, false
}

// retire takes an idle worker out; false when the pacer has just given it a job.
func (l *openLoop) retire(w *worker) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, v := range l.idle {
		if v == w {
			l.idle = append(l.idle[:i], l.idle[i+1:]...)
			l.workers--
			return true
		}
	}
	return false
}

// drain waits until every job has ended. The backlog has Drain from now, and until end at most.
func (l *openLoop) drain(ctx context.Context, end int64) {
	l.mu.Lock()
	if l.pending == 0 {
		l.mu.Unlock()
		return
	}
	quiet := make(chan struct{})
	l.quiet = quiet
	l.mu.Unlock()
	t := time.NewTimer(min(l.e.o.Drain, time.Duration(end-l.e.now())))
	defer t.Stop()
	select {
	case <-quiet:
		return
	case <-ctx.Done():
	case <-t.C:
	}
	l.giveUp(ctx.Err() == nil)
	<-quiet // what is in flight ends by its own timeout, or because its connection is closed
}

// giveUp empties the backlog: as unsent where its time is over, else as unfinished.
func (l *openLoop) giveUp(late bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.e.now()
	for ; l.head < l.tail; l.head++ {
		if j := (job{l.head, l.due(l.head)}); late {
			l.rec.unsent(j, now)
		} else {
			l.rec.unfinished(j, now)
		}
		l.pending--
	}
	if l.pending == 0 && l.quiet != nil {
		close(l.quiet)
		l.quiet = nil
	}
}

func (l *openLoop) load() (inFlight, backlog int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	backlog = l.tail - l.head
	return l.pending - backlog, backlog
}

func (l *openLoop) wait() { l.wg.Wait() }
