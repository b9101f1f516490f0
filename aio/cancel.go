package aio

import (
	"reflect"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// Cancel ends the operations of c, in both directions, that were submitted with that tag (==) and are not
// over. It returns how many it found. Each is returned by WaitIO once, as ever: with ErrCancelled, and Size
// says what was transferred before; or as if it had not been cancelled, where the end came first. What
// stands behind it goes on, be it behind a write of which a part was sent.
//
// It does not find a CloseAfterWrites, nor what is over and waits for WaitIO, nor a tag that is not
// comparable. Like SetDeadline, it takes time in proportion to the operations of c.
func (c *Conn) Cancel(tag any) int { return c.watcher().cancelTag(&c.desc, tag) }

// Cancel is [Conn.Cancel] for accepts: a Listener without any has those who come wait in the kernel's queue, where
// Close resets them.
func (l *Listener) Cancel(tag any) int { return l.watcher.cancelTag(&l.desc, tag) }

// cancelTag is Cancel of the connection or the listener at d.
func (w *Watcher) cancelTag(d *proactor.Desc, tag any) int {
	if w == nil {
		return 0 // no Watcher has made it
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.pendingOf(d, tag, func(op *proactor.Op, begun bool) bool {
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
	if n > 0 {
		w.wake()
	}
	return n
}

// SetDeadline moves the deadline of the operations of c, in both directions, that were submitted with that
// tag (==) and are not over; NoDeadline takes it away. It returns how many it found: none whose deadline
// has ended it, though WaitIO may not have returned it yet. One in the past ends them, those that were tried without
// another try.
// See Cancel for the rest.
func (c *Conn) SetDeadline(tag any, deadline time.Time) int {
	w := c.watcher()
	if w == nil {
		return 0 // no Watcher has made it
	}
	at := w.due(deadline)
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.pendingOf(&c.desc, tag, func(op *proactor.Op, begun bool) bool {
		w.deadlines.remove(op)
		op.Deadline = at
		if begun && at != 0 {
			w.deadlines.add(op)
		}
		return true
	})
	if n > 0 {
		w.wake() // it may wait for a later one
	}
	return n
}

// pendingOf calls f with each operation of d that has the tag and is not over, and counts those of which it
// says true. f may end the one that it gets, when that is begun. The caller holds mu.
func (w *Watcher) pendingOf(d *proactor.Desc, tag any, f func(op *proactor.Op, begun bool) bool) (n int) {
	if d.Gone != proactor.None || !canCompare(tag) {
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
	return n
}

// canCompare reports whether tag == tag does not panic.
func canCompare(tag any) bool {
	t := reflect.TypeOf(tag)
	if t == nil {
		return true
	}
	if k := t.Kind(); k == reflect.Struct || k == reflect.Array {
		return reflect.ValueOf(tag).Comparable() // what its interfaces hold counts, too
	}
	return t.Comparable()
}
