package aio

import (
	"sync/atomic"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// NoDeadline lets an operation wait for as long as it takes.
var NoDeadline time.Time

// Post submits an operation that is over at once, to wake the goroutine in WaitIO. The Result's
// Error is nil, or ErrQueueFull if WaitIO has not returned Options.MaxQueued posts yet. Post fails
// with ErrWatcherClosed.
func (w *Watcher) Post(tag any) error {
	return w.submit(proactor.Op{Desc: &w.posts, Kind: proactor.Posted, Tag: tag}, NoDeadline)
}

// submit queues an operation, which WaitIO returns in any case. A refused one waits for the next
// WaitIO and no longer, so what a program submits between two calls bounds them.
func (w *Watcher) submit(o proactor.Op, deadline time.Time) error {
	d, n := o.Desc, o.Bytes()
	o.Index = -1
	o.Deadline = w.due(deadline)
	_, waits := o.Tag.(proactor.Waiter)
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock()
	if w.subs.closed {
		return ErrWatcherClosed
	}
	if o.Err == nil {
		o.Err = w.refusal(&o, n, waits)
	}
	if o.Err != nil && waits {
		return o.Err
	}
	op := w.operation()
	*op = o
	atomic.AddInt32(&d.Queued, 1)
	if o.Err != nil {
		op.Mode = proactor.Rejected
		w.subs.refused.Push(op)
		w.wakeLocked()
		return nil
	}
	switch o.Kind {
	case proactor.Closing:
		d.State |= proactor.Closed
	case proactor.ShutWrite:
		d.State |= proactor.CloseWrite
	}
	d.Bytes.Add(n)
	w.subs.bytes += n
	if d.Subs.Head == nil {
		w.subs.list(d)
	}
	d.Subs.Push(op)
	w.subs.count++
	w.wakeLocked()
	return nil
}

// list makes the loop take the submissions of d, after a send.
func (s *submissions) list(d *proactor.Desc) {
	if d.State&proactor.Sending != 0 {
		d.State |= proactor.Waiting
	} else {
		s.descs.push(d)
	}
}

// refusal returns why o, with n bytes to send, cannot be queued. The caller holds subs.mu.
func (w *Watcher) refusal(o *proactor.Op, n int64, waits bool) error {
	d := o.Desc
	switch {
	case d.State&proactor.Closed != 0:
		return ErrClosed
	case o.Kind == proactor.Closing:
	case waits: // see proactor.Waits
	case int(atomic.LoadInt32(&d.Queued)) >= w.options.MaxQueued:
		return ErrQueueFull
	case n > 0 && !fits(d.Bytes.Load(), n, w.options.MaxQueuedBytes),
		n > 0 && !fits(w.subs.bytes, n, w.options.MaxWatcherBytes):
		return ErrQueueFull
	}
	return nil
}

// fits allows a write of any length if nothing is queued. It could never be sent otherwise.
func fits(queued, n, limit int64) bool { return queued == 0 || n <= limit-queued }

// due returns a deadline as time since the watcher's start, or 0 for none.
func (w *Watcher) due(deadline time.Time) time.Duration {
	if deadline.IsZero() {
		return 0
	}
	now := time.Now()
	elapsed := now.Sub(w.start)
	return max(due(deadline, now, elapsed), elapsed)
}

// due returns a deadline as time since the watcher's start, which is elapsed ago. One without a
// monotonic reading is as far away as the wall clock says now, because that may have been stepped.
func due(deadline, now time.Time, elapsed time.Duration) time.Duration {
	return max(elapsed+min(deadline.Sub(now), 1<<62), 1)
}

func (w *Watcher) operation() *proactor.Op {
	op := w.subs.spare.Pop()
	if op == nil {
		op = w.refill()
	}
	w.subs.spares--
	return op
}

// refill allocates a page of operations, and returns one. Their page is not shared with what
// becomes garbage when a connection is attached. The caller holds subs.mu.
func (w *Watcher) refill() *proactor.Op {
	ops := make([]proactor.Op, 36) // 4 KiB
	for i := range ops[1:] {
		w.subs.spare.Push(&ops[i+1])
	}
	w.subs.spares += len(ops)
	return &ops[0]
}

// intake begins what was submitted, in turns of the connections, and what was refused.
func (w *Watcher) intake() {
	for left := intakeTurn; ; {
		var taken proactor.Queue
		n := 0
		w.subs.mu.Lock()
		for left > 0 && n < intakeLock && w.subs.descs.len() > 0 {
			d := w.subs.descs.pop()
			if d.State&proactor.Sending != 0 {
				d.State |= proactor.Waiting
				continue
			}
			for k := 0; k < intakeConn && d.Subs.Head != nil; k++ {
				taken.Push(d.Subs.Pop())
				n++
			}
			if d.Subs.Head != nil {
				w.subs.descs.push(d)
			}
		}
		w.subs.count -= n
		if n == 0 {
			w.ended.Append(&w.subs.refused)
			w.subs.mu.Unlock()
			return
		}
		w.subs.mu.Unlock()
		left -= n
		w.begin(&taken)
	}
}

func (w *Watcher) intakeOf(d *proactor.Desc) {
	var taken proactor.Queue
	w.subs.mu.Lock()
	for op := d.Subs.Pop(); op != nil; op = d.Subs.Pop() {
		taken.Push(op)
		w.subs.count--
	}
	w.subs.mu.Unlock()
	w.begin(&taken)
}

func (w *Watcher) intakeAll() {
	w.intake()
	for w.subs.descs.len() > 0 {
		w.intake()
	}
}

func (w *Watcher) begin(ops *proactor.Queue) {
	for op := ops.Pop(); op != nil; op = ops.Pop() {
		w.stats.Operations++
		if op.Kind == proactor.Posted {
			w.ended.Push(op)
			continue
		}
		w.pending++
		d := op.Desc
		if op.Kind.Dir() == proactor.In {
			w.revive(d) // the dormant read comes first
		}
		d.Queues[op.Kind.Dir()].Push(op)
		if op.Cause != proactor.None { // cancelled before it began
			op.Err = errOf(op.Cause)
			w.finish(op)
			continue
		}
		if op.Deadline != 0 {
			w.deadlines.add(op)
			if op.Deadline <= w.now() {
				d.Ready |= proactor.CanRead | proactor.CanWrite // one try, at least
			}
		}
		w.list(d, &w.fair.fresh)
	}
}
