package aio

import (
	"syscall"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// Time between tries of a transfer that lacks memory.
const starvedRetry = time.Millisecond

// run starts the first operations in a queue of d, until one stays in flight, none is left, or b is
// spent.
func (w *Watcher) run(d *proactor.Desc, dir proactor.Dir, b *budget) {
	for q := &d.Queues[dir]; startable(d, dir) && !b.spent(); b.transfers-- {
		op := q.Head
		if cause := max(d.Released, op.Cause); cause != proactor.None || op.Kind == proactor.Closing {
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

func (w *Watcher) runAll(d *proactor.Desc) {
	for dir := range d.Queues {
		for startable(d, proactor.Dir(dir)) {
			w.run(d, proactor.Dir(dir), &budget{turnTransfers, turnBytes})
		}
	}
}

func (w *Watcher) over(op *proactor.Op) bool {
	if op.Kind == proactor.Accept {
		return w.accepted(op)
	}
	d := op.Desc
	cause := max(d.Released, op.Cause) // the stronger one
	if op.Err == nil {
		switch op.Kind {
		case proactor.Readable:
			if op.Swap || d.Released == proactor.None && w.readSwap(op) { // after Release the number may be another's
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
			if d.Released == proactor.None {
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

// swapFull reports whether a message might not fit.
func (w *Watcher) swapFull() bool { return 2*(len(w.swap.buf)-w.swap.used) < len(w.swap.buf) }

// readSwap reads into the swap buffer. It returns false if the operation has to wait.
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
	if ends && op.Desc.Released == proactor.None {
		w.table.leaving = append(w.table.leaving, op.Desc)
	}
	if w.accepts.arrived != nil {
		w.arrive(op)
	}
	w.ended.Push(op)
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

// Operations of silent connections that are kept for those that wake up. Submissions get the rest.
const maxIdleSpares = 64

// untagged replaces a nil tag.
var untagged any = new(byte)

// sleep replaces a read that waits for the first byte of a silent connection by its tag. An
// operation is as large as the rest of an idle connection. Start has just returned false for op.
// The caller holds mu.
func (w *Watcher) sleep(op *proactor.Op) {
	d := op.Desc
	q := &d.Queues[proactor.In]
	if op != q.Head || op.Next != nil || op.Deadline != 0 || !w.backend.Sleeps(op) {
		return
	}
	q.Remove(op)
	if d.Dormant = op.Tag; op.Tag == nil {
		d.Dormant = untagged
	}
	*op = proactor.Op{}
	w.idle.spare.Push(op)
	if w.idle.spares++; w.idle.spares < maxIdleSpares {
		return
	}
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock()
	if w.subs.spares < maxFree {
		w.subs.spare.Append(&w.idle.spare)
		w.subs.spares += w.idle.spares
	}
	w.idle.spare, w.idle.spares = proactor.Queue{}, 0
}

// revive makes the dormant read of d an operation in flight again. The caller holds mu.
func (w *Watcher) revive(d *proactor.Desc) {
	if d.Dormant == nil {
		return
	}
	op := w.idle.spare.Pop()
	if op != nil {
		w.idle.spares--
	} else {
		w.subs.mu.Lock()
		op = w.operation()
		w.subs.mu.Unlock()
	}
	*op = proactor.Op{Desc: d, Kind: proactor.Readable, Index: -1, InFlight: true}
	if d.Dormant != untagged {
		op.Tag = d.Dormant
	}
	d.Dormant = nil
	d.Queues[proactor.In].Push(op)
}
