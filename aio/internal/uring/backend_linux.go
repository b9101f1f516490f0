// Package uring is a backend over epoll and io_uring. epoll says which descriptors are ready, and a
// ring (io_uring(7), Linux 5.6) carries out all transfers that may succeed by one call. It tries
// what the kernel can do. Functions name their counterpart in liburing.
//
// No transfer waits in the kernel. It would end only when the thread that submitted it runs the
// work that is left for it, and Go lends that thread to other goroutines. While one of them hangs
// in a call that no signal interrupts, nobody could get the completion. ARCHITECTURE.md has the
// alternatives.
//
// Invariant of its unsafe code: the rings are mapped while a ring is open, and words that the
// kernel changes are accessed with atomics only. [Backend]'s queue references all memory that a
// submission names, on the heap, until io_uring_enter(2) has returned. Then the kernel is done with
// it. If a kernel keeps a transfer all the same, the ring is useless, and its memory is never
// freed, because close(2) of a ring does not wait. The pages of the rings are the kernel's own.
package uring

import (
	"errors"
	"io"
	"slices"
	"syscall"
	"unsafe"

	"evenkeel.dev/aio/internal/poller"
	"evenkeel.dev/aio/internal/proactor"
	"evenkeel.dev/aio/internal/sys"
)

// errKept says that the kernel broke what transfers rely on.
var errKept = errors.New("io_uring kept a transfer that must not wait: use aio.BackendEpoll, and report the " +
	"kernel's version")

// Backend is the backend over epoll with a ring. What may succeed is queued, and Poll submits the
// queue by one call. No transfer waits (MSG_DONTWAIT), so the call ends each. One that would have
// to wait is queued again at the next edge.
type Backend struct {
	*poller.Poller
	ring     *ring
	buffers  *buffers       // nil: the watcher has its own
	queued   []*proactor.Op // each at its Slot. Nil if cancelled
	limits   [entries]int   // of what flush submits: the limit of a read without a buffer
	messages []*sys.Message // of what flush submits
	broken   bool           // the kernel kept what it should have ended
}

// New returns a backend over a new ring, with swap memory of that size. It fails with a
// MissingError.
func New(swap int) (*Backend, error) {
	r, err := setup(entries)
	if err != nil {
		return nil, missing(err)
	}
	if err := r.prove(); err != nil {
		r.close()
		return nil, missing(err)
	}
	p, err := poller.NewEpoll(proactor.MaxEvents)
	if err != nil {
		r.close()
		return nil, err
	}
	swapped := newBuffers(r, swap)
	held := p.Holds()
	rest := held.Rest
	held.Rest = func() {
		rest()
		r.close()
		swapped.close()
	}
	b := &Backend{Poller: p, ring: r, buffers: swapped}
	p.Take = b.take
	return b, nil
}

func (b *Backend) Name() string { return "io_uring" }

// take queues a transfer that may succeed, or returns false if the ring does not carry it out.
func (b *Backend) take(op *proactor.Op) bool {
	switch op.Kind {
	case proactor.Recv, proactor.Send, proactor.Sendv:
	case proactor.Readable:
		if b.buffers == nil {
			return false
		}
	default:
		return false
	}
	if !b.has(op) {
		op.Slot = uint32(len(b.queued))
		b.queued = append(b.queued, op)
	}
	return true
}

func (b *Backend) has(op *proactor.Op) bool {
	return int(op.Slot) < len(b.queued) && b.queued[op.Slot] == op
}

func (b *Backend) Cancel(op *proactor.Op) bool {
	if b.has(op) {
		b.queued[op.Slot] = nil
	}
	return b.Poller.Cancel(op)
}

func (b *Backend) Recycle() bool {
	if b.buffers == nil {
		return false
	}
	if len(b.buffers.spent) > 0 {
		b.buffers.recycle()
	}
	return true
}

func (b *Backend) Poll(done []*proactor.Op) ([]*proactor.Op, error) {
	done, err := b.Poller.Poll(done)
	if err != nil {
		return done, err
	}
	return b.flush(done)
}

// Poll returns the error.
func (b *Backend) Settle(done []*proactor.Op) []*proactor.Op {
	done, _ = b.flush(done)
	return done
}

// flush tries all that is queued, and appends what is over. What the kernel did not take stays
// (EAGAIN).
func (b *Backend) flush(done []*proactor.Op) ([]*proactor.Op, error) {
	if b.broken {
		return done, errKept
	}
	var err error
	for from := 0; from < len(b.queued) && err == nil; from += entries {
		to := min(from+entries, len(b.queued))
		messages := 0
		for at := from; at < to; at++ {
			if op := b.queued[at]; op != nil && op.Kind == proactor.Sendv {
				b.fillv(b.ring.get(), op, messages)
				messages++
			} else if op != nil {
				b.fill(b.ring.get(), op)
			}
		}
		err = b.ring.submit()
		for _, m := range b.messages[:messages] {
			m.Clear()
		}
		for c, ok := b.ring.next(); ok; c, ok = b.ring.next() {
			done = b.complete(done, c)
		}
		if err != nil {
			break
		}
		for at := from; at < to; at++ {
			if op := b.queued[at]; op != nil {
				b.lose(op)
				done, b.queued[at], err = append(done, op), nil, errKept
			}
		}
	}
	rest := b.queued[:0]
	for _, op := range b.queued {
		if op != nil {
			op.Slot = uint32(len(rest))
			rest = append(rest, op)
		}
	}
	clear(b.queued[len(rest):])
	b.queued = rest
	return done, err
}

// lose ends an operation that the kernel kept. Its memory and the ring's are never freed.
func (b *Backend) lose(op *proactor.Op) {
	leaked.mu.Lock()
	defer leaked.mu.Unlock()
	leaked.memory = append(leaked.memory, op.Buf, b.buffers, b.messages)
	if v, ok := op.Tag.(*proactor.Vec); ok {
		bufs, _ := v.Next()
		leaked.memory = append(leaked.memory, slices.Clone(bufs))
	}
	b.broken = true
	op.Buf, op.Size, op.InFlight, op.Err = nil, 0, false, errKept
}

// fill makes e the entry of op. A read without a buffer takes one of ours, or fails with ENOBUFS.
func (b *Backend) fill(e *sqe, op *proactor.Op) {
	buf := op.Rest()
	e.opcode, e.fd, e.userData = opRecv, op.Desc.Num, uint64(op.Slot)
	e.addr, e.length = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(buf)))), uint32(len(buf))
	e.opFlags = syscall.MSG_DONTWAIT
	switch op.Kind {
	case proactor.Send:
		e.opcode, e.opFlags = opSend, syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL
	case proactor.Readable:
		limit := op.Limit()
		b.limits[op.Slot%entries] = limit
		e.flags, e.length = sqeBufferSelect, uint32(limit)
	}
}

func (b *Backend) fillv(e *sqe, op *proactor.Op, at int) {
	if at == len(b.messages) {
		b.messages = append(b.messages, new(sys.Message))
	}
	m := b.messages[at]
	bufs, _ := op.Tag.(*proactor.Vec).Next()
	m.Set(bufs)
	e.opcode, e.fd, e.userData = opSendmsg, op.Desc.Num, uint64(op.Slot)
	e.addr, e.length, e.opFlags = uint64(uintptr(m.Header())), 1, syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL
}

func (b *Backend) complete(done []*proactor.Op, c cqe) []*proactor.Op {
	op := b.queued[c.userData]
	b.queued[c.userData] = nil
	d, n := op.Desc, int(max(c.res, 0))
	var err error
	if c.res < 0 {
		err = syscall.Errno(-c.res)
	}
	room := op.Room()
	limited := false
	if op.Kind == proactor.Readable {
		limited = b.limits[c.userData%entries] > 0
		if room = n; c.flags&cqeBufferMore != 0 && n != b.limits[c.userData%entries] {
			room++ // there was room for more
		}
	}
	poller.Moved(d, op.Kind.Dir(), n, room, err)

	switch {
	case err == syscall.EAGAIN: // it may name a buffer. See buffers.take
		if b.Await(op) {
			return done
		}
	case err == syscall.EINTR:
		b.take(op)
		return done
	case err != nil:
		op.Err = err
	case n == 0 && op.Kind.Dir() == proactor.In:
		op.Err = io.EOF
	case op.Kind == proactor.Readable:
		op.Buf, op.Swap = b.buffers.take(c), true
		if c.flags&cqeBufferMore == 0 && !limited {
			op.Buf = b.buffers.join(d, op.Buf)
		}
		op.Size = len(op.Buf)
	default:
		op.Size += n
	}
	op.InFlight = false
	return append(done, op)
}

func (b *Backend) Close(done []*proactor.Op) []*proactor.Op {
	done = b.Poller.Close(done)
	b.ring.close()
	if !b.broken {
		b.buffers.close()
	}
	b.queued, b.buffers = nil, nil
	return done
}
