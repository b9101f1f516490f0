package aio

import (
	"reflect"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// Cancel ends the pending operations of c with that tag (==), and returns how many it found. Their
// Error is ErrCancelled, and Size is what they transferred. Those that were over first return as
// usual. Operations behind them go on.
//
// It does not find a CloseAfterWrites, or a tag that is not comparable. Its time is proportional to
// the operations of c.
func (c *Conn) Cancel(tag any) int { return c.watcher().cancelTag(&c.desc, tag) }

// Cancel is [Conn.Cancel] for accepts.
func (l *Listener) Cancel(tag any) int { return l.watcher.cancelTag(&l.desc, tag) }

func (w *Watcher) cancelTag(d *proactor.Desc, tag any) int {
	if w == nil {
		return 0
	}
	return w.pendingOf(d, tag, func(op *proactor.Op, begun bool) bool {
		if op.Kind == proactor.Closing {
			return false
		}
		if begun {
			w.cancel(op, proactor.Cancelled)
		} else {
			w.stats.Cancelled++
			op.Cause = proactor.Cancelled
		}
		return true
	})
}

// SetDeadline moves the deadline of the pending operations of c with that tag (==), and returns how
// many it found. NoDeadline removes it. One in the past ends them. See Cancel.
func (c *Conn) SetDeadline(tag any, deadline time.Time) int {
	w := c.watcher()
	if w == nil {
		return 0
	}
	at := w.due(deadline)
	return w.pendingOf(&c.desc, tag, func(op *proactor.Op, begun bool) bool {
		w.deadlines.remove(op)
		op.Deadline = at
		if begun && at != 0 {
			w.deadlines.add(op)
		}
		return true
	})
}

// pendingOf counts the operations of d with that tag for which f returns true, and wakes WaitIO if
// there are any.
func (w *Watcher) pendingOf(d *proactor.Desc, tag any, f func(op *proactor.Op, begun bool) bool) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d.Released != proactor.None || !canCompare(tag) {
		return 0
	}
	visit := func(q *proactor.Queue, begun bool) {
		for op := q.Head; op != nil; {
			next := op.Next
			if op.Cause == proactor.None && tagOf(op) == tag && f(op, begun) {
				n++
			}
			op = next
		}
	}
	w.revive(d)
	visit(&d.Queues[proactor.In], true)
	visit(&d.Queues[proactor.Out], true)
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock()
	visit(&d.Subs, false)
	if n > 0 && !w.ending.closed {
		w.wakeLocked()
	}
	return n
}

// canCompare reports whether tag == tag does not panic.
func canCompare(tag any) bool {
	t := reflect.TypeOf(tag)
	if t == nil {
		return true
	}
	if k := t.Kind(); k == reflect.Struct || k == reflect.Array {
		return reflect.ValueOf(tag).Comparable() // its interfaces may hold anything
	}
	return t.Comparable()
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
