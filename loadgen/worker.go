package loadgen

import (
	"sync"
	"time"
)

// worker has a lane of the open loop and the goroutine that reads its answers.
//
// A direct worker is idle in a read of its connection: the pacer writes the next request past
// it, and the answer wakes it. So one wake-up serves a request, and a connection that the
// server closes while idle is noticed at once. Any other worker is idle at jobs.
type worker struct {
	l    *openLoop
	lane lane
	jobs chan job // for a worker that is not direct

	mu       sync.Mutex // guards what assign sets, from before the write until after it
	assigned bool
	job      job
	sent     int64
	rec      *recorder
}

// run carries the first job and then whatever the loop has, until the connection or the run
// ends.
func (w *worker) run(j job, rec *recorder) {
	e := w.l.e
	for ok := true; ; {
		if ok {
			_ = e.record(w.l.ctx, w.lane, j, rec)
		}
		if w.l.direct {
			w.calm()
		}
		var idle bool
		if j, rec, ok, idle = w.l.next(w); ok {
			continue
		}
		if !idle {
			return
		}
		if w.l.direct {
			if !w.await() {
				return
			}
			continue
		}
		select {
		case j = <-w.jobs:
			ok, rec = true, w.l.recorder()
		case <-w.l.ctx.Done():
			if w.l.retire(w) {
				return
			}
			j = <-w.jobs // the pacer has just taken it: the job must be ended
			ok, rec = true, w.l.recorder()
		}
	}
}

func (l *openLoop) recorder() *recorder {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rec
}

// calm takes the last request's deadline off the connection before it goes idle.
func (w *worker) calm() {
	if c := w.lane.(*socketLane).conns[0]; c != nil {
		_ = c.SetDeadline(time.Time{}) // a dead connection shows at the next read
	}
}

// ready reports whether the next request can be sent on what stands.
func (w *worker) ready() bool { return w.lane.ready() }

// hold keeps a direct worker that finds its connection dead from ending before it has its job.
func (w *worker) hold() {
	if w.l.direct {
		w.mu.Lock()
	}
}

// assign hands an idle worker a job; on a direct one's connection it is sent at once.
func (w *worker) assign(j job, rec *recorder) {
	if !w.l.direct {
		w.jobs <- j
		return
	}
	defer w.mu.Unlock()
	e := w.l.e
	s := w.lane.(*socketLane)
	w.assigned, w.job, w.sent, w.rec = true, j, e.now(), rec
	if err := s.send(e.request(j), w.sent); err != nil {
		s.conns[0].Close() // its reader learns of it and tries again where that is allowed
	}
}

// await reads the next answer on an idle direct worker's connection and records it. It
// reports false when the worker has to end: the connection died while idle.
func (w *worker) await() bool {
	s := w.lane.(*socketLane)
	c := s.conns[0]
	got := c.got
	_, err := c.br.Peek(1)
	w.mu.Lock()
	if !w.assigned {
		w.mu.Unlock()
		// The server closed the connection, or spoke unasked.
		if w.l.retire(w) {
			s.discard(0)
			return false
		}
		w.mu.Lock() // the pacer has it: wait until it has written
	}
	w.assigned = false
	j, sent, rec := w.job, w.sent, w.rec
	w.mu.Unlock()

	e := w.l.e
	r := e.request(j)
	var a answer
	if err == nil {
		a, err = s.receive(r)
	}
	if err != nil {
		untouched := c.got == got
		s.discard(0)
		if s.again(r, true, untouched, err) {
			_ = e.record(w.l.ctx, s, j, rec)
			return true
		}
	}
	rec.ended(w.l.ctx, j, sent, e.now(), a, err)
	return true
}
