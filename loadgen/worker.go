package loadgen

import (
	"sync"
	"time"
)

// worker has a lane of the open loop and the goroutine that reads its answers.
//
// An idle direct worker reads from its connection, to which the pacer writes the next request. So
// one wake-up serves a request, and a closed connection shows at once. Any other worker waits at
// jobs.
type worker struct {
	l    *openLoop
	lane lane
	jobs chan job // not used by a direct worker

	mu       sync.Mutex // guards the rest; held during assign's write
	assigned bool
	job      job
	sent     int64
}

func (w *worker) run(j job) {
	e := w.l.e
	for ok := true; ; {
		if ok {
			_ = e.record(w.l.ctx, w.lane, j)
		}
		if w.l.direct {
			w.clearDeadline()
		}
		var idle bool
		if j, ok, idle = w.l.next(w); ok {
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
		case <-w.l.ctx.Done():
			if w.l.retire(w) {
				return
			}
			j = <-w.jobs // the pacer has just taken this worker
		}
		ok = true
	}
}

func (w *worker) clearDeadline() {
	if c := w.lane.(*socketLane).conns[0]; c != nil {
		_ = c.SetDeadline(time.Time{})
	}
}

func (w *worker) ready() bool { return w.lane.ready() }

// hold keeps a direct worker from ending before it has its job.
func (w *worker) hold() {
	if w.l.direct {
		w.mu.Lock()
	}
}

// assign gives an idle worker a job. A direct one's goes out at once.
func (w *worker) assign(j job) {
	if !w.l.direct {
		w.jobs <- j
		return
	}
	defer w.mu.Unlock()
	e := w.l.e
	s := w.lane.(*socketLane)
	w.assigned, w.job, w.sent = true, j, e.now()
	if err := s.send(e.request(j), w.sent); err != nil {
		s.conns[0].Close() // its reader notices, and may send again
	}
}

// await reads and records the next answer. It returns false if the connection died while idle.
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
		w.mu.Lock() // wait for the pacer's write
	}
	w.assigned = false
	j, sent := w.job, w.sent
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
			_ = e.record(w.l.ctx, s, j)
			return true
		}
	}
	j.rec.ended(w.l.ctx, j, sent, e.now(), a, err)
	return true
}
