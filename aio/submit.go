package aio

import (
	"container/heap"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"evenkeel.dev/internal/proactor"
)

// request is what the user asks for.
type request struct {
	kind     proactor.Kind
	tag      any
	conn     net.Conn
	buf      []byte
	deadline time.Time
	full     bool
}

// submit queues an operation for WaitIO. What the connection refuses comes as a result.
func (l *loop) submit(r request) error {
	c, isHandle := r.conn.(*Conn)
	at, err := identity(r.conn)
	if err != nil {
		return err
	}
	if r.kind != proactor.Readable && len(r.buf) == 0 {
		return ErrEmptyBuffer
	}
	if isHandle && c.loop != l {
		return ErrUnsupported
	}
	var refused error
	l.subMu.Lock()
	var d *proactor.Desc
	if isHandle {
		d = c.desc
	} else if d = l.find(at); d == nil && !l.closed {
		l.subMu.Unlock()
		d, refused = l.delegate(r.conn, at)
		l.subMu.Lock()
	}
	if l.closed {
		l.subMu.Unlock()
		return ErrWatcherClosed
	}
	if d != nil && int(atomic.LoadInt32(&d.Queued)) >= l.options.MaxQueued {
		l.subMu.Unlock()
		return ErrQueueFull
	}
	op := l.spare.Pop()
	if op == nil {
		op = l.refill()
	}
	l.spares--
	op.Kind, op.Tag, op.Conn, op.Buf, op.Full, op.Desc, op.Index, op.Err = r.kind, r.tag, r.conn, r.buf, r.full, d, -1, refused
	if !r.deadline.IsZero() {
		op.Deadline = max(r.deadline.Sub(l.start), 1)
	}
	if d != nil {
		atomic.AddInt32(&d.Queued, 1)
	}
	l.subs.Push(op)
	l.wake()
	l.subMu.Unlock()
	return nil
}

// refill allocates operations, of which it returns one. Together they share no memory page with
// what becomes garbage when a connection is delegated. The caller holds subMu.
func (l *loop) refill() *proactor.Op {
	ops := make([]proactor.Op, 32)
	for i := range ops[1:] {
		l.spare.Push(&ops[i+1])
	}
	l.spares += len(ops)
	return &ops[0]
}

// bare returns the error of a delegation as OpResult has it.
func bare(err error) error {
	var errno syscall.Errno
	switch {
	case errors.Is(err, proactor.ErrNoDescriptor):
		return ErrUnsupported
	case errors.Is(err, net.ErrClosed):
		return ErrConnClosed
	case errors.As(err, &errno):
		return errno
	}
	return ErrNoRawConn
}

// intake takes what was submitted, and begins at most so many of it (all when negative). The
// caller holds mu.
func (l *loop) intake(most int) {
	l.subMu.Lock()
	if l.incoming.Head == nil {
		l.incoming = l.subs
	} else if l.subs.Head != nil {
		l.incoming.Tail.Next = l.subs.Head
		l.incoming.Tail = l.subs.Tail
	}
	l.subs = proactor.Queue{}
	l.subMu.Unlock()
	for ; most != 0 && l.incoming.Head != nil; most-- {
		l.begin(l.incoming.Pop())
	}
}

// begin queues an operation at its descriptor, and starts it if it is the only one.
func (l *loop) begin(op *proactor.Op) {
	l.pending++
	l.stats.Operations++
	d := op.Desc
	if d != nil && d.Gone == proactor.Freed {
		op.Err = ErrConnClosed // Free has begun what was submitted before it
	}
	if op.Err != nil {
		l.finish(op)
		return
	}
	if op.Deadline != 0 {
		heap.Push(&l.deadlines, op)
		if op.Deadline <= l.now() {
			d.Ready |= proactor.CanRead | proactor.CanWrite // try it in any case
		}
	}
	dir := op.Kind.Dir()
	d.Queues[dir].Push(op)
	l.run(d, dir)
}
