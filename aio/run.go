package aio

import (
	"container/heap"
	"io"
	"syscall"
	"time"

	"evenkeel.dev/internal/proactor"
)

// starvedRetry is when a transfer is tried again for which the kernel had no memory.
const starvedRetry = time.Millisecond

// run starts what is first in a queue of d, until something stays in flight or nothing is left.
func (l *loop) run(d *proactor.Desc, dir proactor.Dir) {
	q := &d.Queues[dir]
	for op := q.Head; op != nil && !op.InFlight; op = q.Head {
		if cause := max(d.Gone, op.Cause); cause != proactor.None {
			op.Err = errOf(cause)
			l.finish(op)
			continue
		}
		if d.Starved {
			return
		}
		if l.backend.Start(op) && l.over(op) {
			l.finish(op)
		}
	}
}

// over reports whether an operation has ended, of which a transfer has.
func (l *loop) over(op *proactor.Op) bool {
	d := op.Desc
	cause := max(d.Gone, op.Cause) // the stronger one
	if op.Err == nil {
		switch op.Kind {
		case proactor.Readable:
			if op.Swap || d.Gone == proactor.None && l.readSwap(op) { // the descriptor of one that is gone is another's
				return true
			}
		case proactor.Recv:
			if !op.Full || op.Size == len(op.Buf) {
				return true
			}
		case proactor.Send:
			if op.Size == len(op.Buf) {
				return true
			}
		}
	}
	switch op.Err {
	case nil, syscall.ECANCELED: // by us; or because the thread ended that had submitted it
		op.Err = errOf(cause)
	case syscall.ENOBUFS, syscall.EAGAIN: // no memory for it just now
		if op.Err = errOf(cause); op.Err == nil && !d.Starved {
			d.Starved = true
			l.starved = append(l.starved, d)
		}
	}
	return op.Err != nil
}

// tinySize is what a read without a buffer gets when the swap buffer is full.
const tinySize = 16

// readSwap reads into the swap buffer. It reports false when nothing was there after all.
func (l *loop) readSwap(op *proactor.Op) bool {
	buf := l.swap[l.swapUsed:]
	op.Swap = len(buf) > 0
	if !op.Swap {
		buf = make([]byte, tinySize)
		l.stats.SwapFull++
	}
	n, err := l.backend.Recv(op.Desc, buf)
	if err == syscall.EAGAIN {
		op.Swap = false
		return false
	}
	op.Size, op.Err = n, err
	op.Buf = buf[:n:n]
	if op.Swap {
		l.swapUsed += n
	}
	return true
}

// finish takes an operation off its queue, to be returned.
func (l *loop) finish(op *proactor.Op) {
	if d := op.Desc; d != nil {
		d.Queues[op.Kind.Dir()].Remove(op)
	}
	if op.Index >= 0 {
		heap.Remove(&l.deadlines, int(op.Index))
	}
	l.pending--
	l.swapHeld = l.swapHeld || op.Swap
	if op.Kind == proactor.Send {
		l.stats.BytesWritten += uint64(op.Size)
	} else {
		l.stats.BytesRead += uint64(op.Size)
	}
	l.ended.Push(op)
}

// expire ends what is late. It reports whether anything was.
func (l *loop) expire() (late bool) {
	now := l.now()
	for len(l.deadlines) > 0 && l.deadlines[0].Deadline <= now {
		l.cancel(heap.Pop(&l.deadlines).(*proactor.Op), proactor.TimedOut)
		late = true
	}
	return late
}

// cancel ends an operation early; one that the backend cannot give back at once comes from Poll.
func (l *loop) cancel(op *proactor.Op, cause proactor.Cause) {
	l.stats.Cancelled++
	op.Cause = cause
	if op.InFlight && !l.backend.Cancel(op) {
		return
	}
	op.Err = errOf(cause)
	l.finish(op)
	l.run(op.Desc, op.Kind.Dir())
}

// errOf returns the error of an operation that was ended for that cause, or nil.
func errOf(c proactor.Cause) error {
	switch c {
	case proactor.TimedOut:
		return ErrDeadline
	case proactor.Freed:
		return io.ErrClosedPipe
	case proactor.Closed:
		return ErrWatcherClosed
	}
	return nil
}

// deadlines is a heap of operations, the earliest deadline first.
type deadlines []*proactor.Op

func (h deadlines) Len() int           { return len(h) }
func (h deadlines) Less(i, j int) bool { return h[i].Deadline < h[j].Deadline }

func (h deadlines) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].Index, h[j].Index = int32(i), int32(j)
}

// Push implements heap.Interface.
func (h *deadlines) Push(x any) {
	op := x.(*proactor.Op)
	op.Index = int32(len(*h))
	*h = append(*h, op)
}

// Pop implements heap.Interface.
func (h *deadlines) Pop() any {
	last := len(*h) - 1
	op := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	op.Index = -1
	return op
}
