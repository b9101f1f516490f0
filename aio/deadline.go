package aio

import (
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// expire tries late operations once more and ends them. It reports whether there were any.
func (w *Watcher) expire() bool {
	if _, any := w.deadlines.first(); !any {
		return false // saves a look at the clock
	}
	now := w.now()
	for op := w.deadlines.late(now); op != nil && len(w.late) < expireTurn; op = w.deadlines.late(now) {
		w.late = append(w.late, op)
		w.deadlines.move(op, now+starvedRetry) // if it has to wait for others
		w.run(op.Desc, op.Kind.Dir(), &budget{connTransfers, connBytes})
	}
	if len(w.late) == 0 {
		return false
	}
	w.land(w.backend.Settle(w.polled[:0]))
	for _, op := range w.late {
		if op.Index < 0 || startable(op.Desc, op.Kind.Dir()) { // it is over, or waits for others
			continue
		}
		behind := now - op.Deadline
		w.stats.Expired++
		w.stats.Late += behind
		w.stats.LateMax = max(w.stats.LateMax, behind)
		w.cancel(op, proactor.TimedOut)
	}
	clear(w.late)
	w.late = w.late[:0]
	return true
}

// Four children an entry halve the levels of a binary heap, and share a cache line.
const branches = 4

// deadlines is a heap of operations, the earliest first. It holds the times, so a comparison does
// not touch an operation.
type deadlines struct {
	heap     []deadline
	compared int // comparisons, for tests
}

type deadline struct {
	at time.Duration
	op *proactor.Op
}

func (d *deadlines) first() (at time.Duration, any bool) {
	if len(d.heap) == 0 {
		return 0, false
	}
	return d.heap[0].at, true
}

func (d *deadlines) late(now time.Duration) *proactor.Op {
	if at, any := d.first(); !any || at > now {
		return nil
	}
	return d.heap[0].op
}

func (d *deadlines) add(op *proactor.Op) {
	d.heap = append(d.heap, deadline{})
	d.place(len(d.heap)-1, deadline{op.Deadline, op})
}

func (d *deadlines) remove(op *proactor.Op) {
	at := int(op.Index)
	if at < 0 {
		return
	}
	op.Index = -1
	last := len(d.heap) - 1
	moved := d.heap[last]
	d.heap[last] = deadline{}
	d.heap = d.heap[:last]
	if at < last {
		d.place(at, moved)
	}
}

func (d *deadlines) move(op *proactor.Op, at time.Duration) { d.place(int(op.Index), deadline{at, op}) }

// place puts e at i, which is free, or where the heap wants it.
func (d *deadlines) place(i int, e deadline) {
	for i > 0 {
		above := (i - 1) / branches
		d.compared++
		if d.heap[above].at <= e.at {
			break
		}
		d.set(i, d.heap[above])
		i = above
	}
	for {
		least := branches*i + 1
		if least >= len(d.heap) {
			break
		}
		for k := least + 1; k < min(branches*i+1+branches, len(d.heap)); k++ {
			d.compared++
			if d.heap[k].at < d.heap[least].at {
				least = k
			}
		}
		d.compared++
		if e.at <= d.heap[least].at {
			break
		}
		d.set(i, d.heap[least])
		i = least
	}
	d.set(i, e)
}

func (d *deadlines) set(i int, e deadline) {
	d.heap[i] = e
	e.op.Index = int32(i)
}
