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
