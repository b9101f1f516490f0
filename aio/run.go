package aio

import (
	"syscall"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// starvedRetry is the time between tries of a transfer that lacks memory.
const starvedRetry = time.Millisecond

// run starts the first operations in a queue of d, until one stays in flight, none is left, or b is
// spent.
func (w *Watcher) run(d *proactor.Desc, dir proactor.Dir, b *budget) {
	for q := &d.Queues[dir]; startable(d, dir) && !b.spent(); b.transfers-- {
		op := q.Head
		if cause := max(d.Gone, op.Cause); cause != proactor.None || op.Kind == proactor.Closing {
			op.Err = errOf(cause)
			w.finish(op)
			continue
		}
		before, rest := op.Size, op.Room()
		if !w.backend.Start(op) {
			if d.Ready&(proactor.CanRead<<dir) != 0 {
				b.bytes -= rest // it moves in Poll
			} else {
				w.sleep(op)
			}
			continue
		}
		over := w.over(op)
		b.bytes -= op.Size - before
		if over {
			w.finish(op)
		}
	}
}

// runAll is run without a budget, in both directions.
func (w *Watcher) runAll(d *proactor.Desc) {
	for dir := range d.Queues {
		for startable(d, proactor.Dir(dir)) {
			w.run(d, proactor.Dir(dir), &budget{turnTransfers, turnBytes})
		}
	}
}

// over reports whether an operation is over after a transfer.
func (w *Watcher) over(op *proactor.Op) bool {
	if op.Kind == proactor.Accept {
		return w.accepted(op)
	}
	d := op.Desc
	cause := max(d.Gone, op.Cause) // the stronger one
	if op.Err == nil {
		switch op.Kind {
		case proactor.Readable:
			if op.Swap || d.Gone == proactor.None && w.readSwap(op) { // after Release the number may belong to another
				return true
			}
		case proactor.Recv, proactor.Send:
			if !op.Full || op.Size == len(op.Buf) {
				return true
			}
		case proactor.Sendv:
			if op.Tag.(*proactor.Vec).Sent(op.Size) {
				return true
			}
		case proactor.ShutWrite:
			return true
		case proactor.Connect:
			if d.Gone == proactor.None {
				w.connected(d)
				return true
			}
		}
	}
	switch op.Err {
	case nil, syscall.ECANCELED: // we cancelled it, or the thread that submitted it ended
		op.Err = errOf(cause)
	case syscall.ENOBUFS, syscall.EAGAIN: // no memory: try again in the next turn
		full := op.Kind == proactor.Readable && op.Err == syscall.ENOBUFS
		if op.Err = errOf(cause); op.Err != nil {
			break
		}
		if full {
			w.stats.SwapFull++
		}
		if d.Starved == [2]bool{} && d.Waited {
			w.memory.retried.push(d)
		} else if d.Starved == [2]bool{} {
			d.Waited = true
			w.memory.starved.push(d)
		}
		d.Starved[op.Kind.Dir()] = true
	}
	return op.Err != nil
}

// swapFull reports whether less than half of the swap buffer is left. A message might not fit.
func (w *Watcher) swapFull() bool { return 2*(len(w.swap.buf)-w.swap.used) < len(w.swap.buf) }

// readSwap reads into the swap buffer. If that is full (ENOBUFS), or nothing is there, it returns
// false and the operation waits.
func (w *Watcher) readSwap(op *proactor.Op) bool {
	buf := w.swap.buf[w.swap.used:]
	if w.swapFull() {
		op.Err = syscall.ENOBUFS
		return false
	}
	if limit := op.Limit(); limit > 0 && limit < len(buf) {
		buf = buf[:limit]
	}
	n, err := w.backend.Recv(op.Desc, buf)
	if err == syscall.EAGAIN {
		return false
	}
	op.Buf, op.Size, op.Swap, op.Err = buf[:n:n], n, true, err
	w.swap.used += n
	return true
}

// finish moves an operation from its queue to the ended ones.
func (w *Watcher) finish(op *proactor.Op) {
	op.Desc.Queues[op.Kind.Dir()].Remove(op)
	w.deadlines.remove(op)
	op.Desc.Waited = op.Desc.Starved != [2]bool{}
	w.pending--
	w.swap.held = w.swap.held || op.Swap
	if op.Kind.Dir() == proactor.Out {
		w.stats.BytesWritten += uint64(op.Size)
	} else {
		w.stats.BytesRead += uint64(op.Size)
	}
	ends := op.Kind == proactor.Closing || op.Kind == proactor.Connect && op.Err != nil
	if ends && op.Desc.Gone == proactor.None {
		w.table.leaving = append(w.table.leaving, op.Desc)
	}
	if w.accepts.arrived != nil {
		w.arrive(op)
	}
	w.ended.Push(op)
}

// expire tries late operations once more and ends them, up to expireTurn. It reports whether there
// were any.
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

// cancel ends an operation early. If the backend cannot return it at once, Poll does.
func (w *Watcher) cancel(op *proactor.Op, cause proactor.Cause) {
	w.stats.Cancelled++
	op.Cause = cause
	w.deadlines.remove(op)
	if op.InFlight && !w.backend.Cancel(op) {
		return
	}
	op.Err = errOf(cause)
	w.finish(op)
	w.list(op.Desc, &w.fair.again)
}
