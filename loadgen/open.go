package loadgen

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

// directBytes is the largest request that the pacer writes itself. It fits an empty send buffer, so
// the write cannot block the schedule.
const directBytes = 4 << 10

// sender is a worker, or a stream of HTTP/2. It carries one request at a time.
type sender interface {
	// hold is called with openLoop.mu held, before assign.
	hold()
	assign(j job)
	// ready reports whether it can be idle. Otherwise it must end.
	ready() bool
}

// openLoop sends requests when they are due. The pacer gives each to an idle sender, to a new one,
// or to the backlog. A sender that has its answer takes from the backlog. Latency counts from due
// (recorder.latency).
//
// Lock order: openLoop.mu, then worker.mu.
type openLoop struct {
	e      *engine
	ctx    context.Context // of the run, because senders outlive a phase
	direct bool            // the pacer writes HTTP/1.1 requests itself
	pool   *pool           // nil: no HTTP/2

	mu      sync.Mutex // guards all below
	rec     *recorder
	due     func() int64 // when the job head was due, called once for each job
	head    int64        // the backlog is the jobs head <= index < tail
	tail    int64        // jobs before it were due
	idle    []sender     // hot connections first
	senders int
	pending int64         // due and not ended
	quiet   chan struct{} // closed when drained; nil while pacing
}

func newOpenLoop(ctx context.Context, e *engine) *openLoop {
	l := &openLoop{e: e, ctx: ctx, direct: e.o.Transport == nil && len(e.hosts) == 1}
	for _, r := range e.reqs {
		l.direct = l.direct && len(r.wire) <= directBytes
	}
	if e.http2 {
		l.pool = newPool(ctx, e, l)
	}
	return l
}

func (l *openLoop) run(ctx context.Context, p phase, rec *recorder) {
	plan := l.e.o.schedule(p)
	oldest := plan.cursor()
	l.mu.Lock()
	l.rec, l.head, l.tail, l.quiet = rec, 0, 0, nil
	l.due = func() int64 {
		due, _ := oldest() // the pacer's cursor was there
		return rec.from + due
	}
	l.mu.Unlock()

	// A phase ends Drain after its duration, even if the pacer is late.
	end := int64(math.MaxInt64)
	if p.duration > 0 {
		end = rec.from + int64(p.duration+l.e.o.Drain)
	}
	paced := make(chan struct{})
	go func() {
		defer close(paced)
		l.pace(ctx, rec, end, plan.cursor())
	}()
	<-paced
	rec.allDue(l.e.now())
	l.drain(ctx, end)
}

// pace releases each job when it is due. Its goroutine must end with it.
func (l *openLoop) pace(ctx context.Context, rec *recorder, end int64, next func() (int64, bool)) {
	nap := l.e.newNap()
	for first := true; ; first = false {
		due, more := next()
		if !more {
			return
		}
		if (first || l.e.now() < end) && l.e.sleepUntil(ctx, rec.from+due, nap) {
			rec.paced(l.e.now() - rec.from - due)
			l.release()
			continue
		}
		n := int64(0)
		for ; more && ctx.Err() == nil; n++ {
			_, more = next()
		}
		if ctx.Err() == nil {
			// The pacer had no time for these, so they join the backlog.
			rec.skipped = n
			l.mu.Lock()
			l.tail += n
			l.pending += n
			l.mu.Unlock()
		}
		return
	}
}

func (e *engine) sleepUntil(ctx context.Context, t int64, nap func(ns int64)) bool {
	const slice = int64(50 * time.Millisecond) // between looks at ctx
	for ctx.Err() == nil {
		left := t - e.now()
		if left <= 0 {
			return true
		}
		nap(min(left, slice))
	}
	return false
}

func (l *openLoop) release() {
	l.mu.Lock()
	l.tail++
	l.pending++
	switch n := len(l.idle); {
	case n > 0:
		j := l.oldest()
		s := l.idle[n-1]
		l.idle = l.idle[:n-1]
		s.hold()
		l.mu.Unlock()
		s.assign(j)
	// After the run a number could be that of a worker still in its call.
	case l.senders < l.e.inFlight() && l.ctx.Err() == nil:
		j, i := l.oldest(), l.senders
		l.senders++
		l.mu.Unlock()
		if l.pool != nil {
			l.pool.stream(i).assign(j)
			return
		}
		w := &worker{l: l, lane: l.e.newLane(i), jobs: make(chan job, 1)}
		l.e.wg.Go(func() { w.run(j) })
	default:
		l.mu.Unlock()
	}
}

// oldest takes from the backlog, which is not empty. The caller holds mu.
func (l *openLoop) oldest() job {
	j := job{index: l.head, due: l.due(), rec: l.rec}
	l.head++
	return j
}

func (l *openLoop) more(s *stream) (job, bool) {
	j, ok, _ := l.next(s)
	return j, ok
}

// next ends a sender's job and gives it another. Without one the sender is idle, or must end.
func (l *openLoop) next(s sender) (j job, ok, idle bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
	switch {
	case l.ctx.Err() != nil:
	case l.head < l.tail:
		return l.oldest(), true, false
	case s.ready():
		l.idle = append(l.idle, s)
		return job{}, false, true
	}
	l.senders--
	return job{}, false, false
}

// retire removes an idle worker. It returns false if the pacer has just given it a job.
func (l *openLoop) retire(w *worker) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.idle, sender(w))
	if i < 0 {
		return false
	}
	l.idle = slices.Delete(l.idle, i, i+1)
	l.senders--
	return true
}

// drain waits until every job has ended. The backlog has Drain, and until end at most.
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
	<-quiet // ends by timeout, or because its connection is closed
}

func (l *openLoop) giveUp(late bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.e.now()
	for l.head < l.tail {
		if j := l.oldest(); late {
			l.rec.failed(j, now, now, errUnsent)
		} else {
			l.rec.unfinished(j, now)
		}
		l.settle()
	}
}

// settle ends a job. The caller holds mu.
func (l *openLoop) settle() {
	l.pending--
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
