package uring

import (
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"evenkeel.dev/internal/proactor"
	"evenkeel.dev/internal/sys"
)

const (
	// entries bounds the work of one call, which holds a P: 128 sends over loopback take some
	// 0.4 ms.
	entries = 128
	// batch limits how many completions are taken at once.
	batch = 256
	// closeLooks is how often Close looks in vain, a millisecond apart, before it gives up what was
	// cancelled and does not come back.
	closeLooks = 2000
	// ofCancel marks the completion of a cancellation; the rest is the user data of what it cancels.
	ofCancel = 1 << 63
)

// Backend carries operations out through a ring.
//
// An operation in flight has a slot; its user data is the slot and, so that a completion can
// never be taken for another's, the slot's count of uses.
type Backend struct {
	ring   *Ring
	waiter *sys.Waiter
	event  int // eventfd that completions and Wake signal
	woken  atomic.Bool

	buffers    *buffers // nil: the watcher has its own
	slots      []slot
	free       []uint32
	inFlight   int
	closing    []int32 // descriptors whose entries the kernel would not take yet
	early      []cqe   // taken to make room, in their order
	earlyAt    int     // the first of them that was not looked at
	hasEarly   atomic.Bool
	spoilt     sqe // what is queued when the ring is of no use any more
	closeLooks int
}

type slot struct {
	op   *proactor.Op
	uses uint32
}

// New returns a backend over a new ring, with swap memory of the given size, or a
// MissingError that says what is missing.
func New(swap int) (*Backend, error) {
	b, err := open()
	if err != nil {
		return nil, missing(err)
	}
	b.buffers = newBuffers(b.ring, swap)
	return b, nil
}

func open() (*Backend, error) {
	r, err := setup(entries)
	if err != nil {
		return nil, err
	}
	b := &Backend{ring: r, closeLooks: closeLooks}
	if err = r.supports(opPollAdd, opAsyncCancel, opSend, opRecv); err != nil {
		r.close()
		return nil, err
	}
	if b.event, err = sys.Eventfd(); err != nil {
		r.close()
		return nil, err
	}
	if b.waiter, err = sys.NewWaiter(b.event, "io_uring's eventfd", b.ready, func() { sys.EventfdSignal(b.event) }); err == nil {
		if err = r.registerEventfd(b.event); err == nil {
			err = b.prove()
		}
	}
	if err != nil {
		if b.waiter != nil {
			b.waiter.Close()
		}
		r.close()
		return nil, err
	}
	r.silence(true)
	return b, nil
}

// Name implements [proactor.Backend].
func (b *Backend) Name() string { return "io_uring" }

// Open implements [proactor.Backend].
func (b *Backend) Open(conn net.Conn, d *proactor.Desc) error {
	fd, err := sys.Dup(conn)
	if err != nil {
		return err
	}
	if fd < 0 {
		return proactor.ErrNoDescriptor
	}
	d.Num, d.Ready = int32(fd), proactor.CanRead
	return nil
}

// Release implements [proactor.Backend]. Entries name descriptors by number until the kernel takes
// them, so it must have taken all before the number can be another's.
func (b *Backend) Release(d *proactor.Desc) {
	b.closing = append(b.closing, d.Num)
	_ = b.flush()
}

// flush submits all entries, and closes what waited for that. Where the kernel takes no more
// before completions are taken (EBUSY), it keeps these for Poll. When it has no memory just now
// the error is EAGAIN.
func (b *Backend) flush() error {
	for range 4 {
		err := b.ring.submit()
		if err == nil {
			for _, fd := range b.closing {
				sys.CloseSocket(int(fd))
			}
			b.closing = b.closing[:0]
			return nil
		}
		if err != syscall.EBUSY && err != syscall.EAGAIN && err != syscall.ENOMEM {
			return err
		}
		for range batch {
			c, ok := b.ring.next()
			if !ok {
				break
			}
			b.early = append(b.early, c)
			b.hasEarly.Store(true)
		}
	}
	return syscall.EAGAIN
}

// next takes the next completion.
func (b *Backend) next() (cqe, bool) {
	if b.earlyAt == len(b.early) {
		return b.ring.next()
	}
	c := b.early[b.earlyAt]
	if b.earlyAt++; b.earlyAt == len(b.early) {
		b.early, b.earlyAt = b.early[:0], 0
		b.hasEarly.Store(false)
	}
	return c, true
}

// entry returns a free entry, if need be after the kernel has taken the others. Of a ring that is
// of no use any more, which Poll reports, it is none.
func (b *Backend) entry() *sqe {
	e := b.ring.get()
	for ; e == nil; e = b.ring.get() {
		if err := b.flush(); err != nil && err != syscall.EAGAIN {
			return &b.spoilt
		}
	}
	return e
}

// Start implements [proactor.Backend].
func (b *Backend) Start(op *proactor.Op) bool {
	if op.Kind == proactor.ShutWrite {
		return shutWrite(op)
	}
	var at uint32
	if n := len(b.free); n > 0 {
		at, b.free = b.free[n-1], b.free[:n-1]
	} else {
		at = uint32(len(b.slots))
		b.slots = append(b.slots, slot{})
	}
	b.slots[at].op = op
	op.Slot, op.InFlight = at, true
	b.inFlight++
	b.queue(op)
	return false
}

// queue queues the entry of op. A read without a buffer takes one of ours, or fails with ENOBUFS
// when all are used up. Where we have none, it is over when it could be read.
func (b *Backend) queue(op *proactor.Op) {
	e := b.entry()
	e.fd, e.userData = op.Desc.Num, b.userData(op.Slot)
	if op.Kind == proactor.Readable && b.buffers == nil {
		e.opcode, e.opFlags = opPollAdd, pollIn()
		return
	}
	buf := op.Buf[op.Size:]
	e.addr, e.length = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(buf)))), uint32(min(len(buf), 1<<30))
	if op.Kind == proactor.Send {
		e.opcode, e.opFlags = opSend, syscall.MSG_NOSIGNAL
		return
	}
	e.opcode = opRecv
	if b.ring.pollFirst && op.Desc.Ready&proactor.CanRead == 0 {
		e.ioprio = recvPollFirst // it was empty: a first try would be in vain
	}
	if op.Kind == proactor.Readable {
		e.flags = sqeBufferSelect
	}
}

func (b *Backend) userData(at uint32) uint64 { return uint64(b.slots[at].uses)<<32 | uint64(at) }

// Cancel implements [proactor.Backend].
func (b *Backend) Cancel(op *proactor.Op) bool {
	e := b.entry()
	e.opcode, e.fd, e.addr, e.userData = opAsyncCancel, -1, b.userData(op.Slot), b.userData(op.Slot)|ofCancel
	return false
}

// Recycle implements [proactor.Backend].
func (b *Backend) Recycle() bool {
	if b.buffers == nil {
		return false
	}
	if len(b.buffers.spent) > 0 {
		b.buffers.recycle()
	}
	return true
}

// Recv implements [proactor.Backend].
func (b *Backend) Recv(d *proactor.Desc, buf []byte) (int, error) {
	n, errno := sys.Recv(int(d.Num), buf)
	if errno != 0 {
		return 0, errno
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Poll implements [proactor.Backend].
func (b *Backend) Poll(done []*proactor.Op) ([]*proactor.Op, error) {
	b.ring.silence(true) // after a Wait
	err := b.flush()
	for range batch {
		c, ok := b.next()
		if !ok {
			break
		}
		done = b.complete(done, c)
	}
	if b.ring.unsubmitted() > 0 {
		err = b.flush()
	}
	return done, err
}

// Settle implements [proactor.Backend]: the kernel tries as it takes an entry. What failed is for Poll
// to say.
func (b *Backend) Settle(done []*proactor.Op) []*proactor.Op {
	for range cqPerEntry*entries/batch + 1 { // all that the ring holds
		var err error
		if done, err = b.Poll(done); err != nil || !b.hasEarly.Load() && !b.ring.Ready() {
			break
		}
	}
	return done
}

// complete appends the operation that c ends.
func (b *Backend) complete(done []*proactor.Op, c cqe) []*proactor.Op {
	if c.flags&cqeBuffer != 0 && c.res <= 0 {
		b.buffers.take(cqe{flags: c.flags}) // a buffer was used up for nothing
	}
	at := uint32(c.userData)
	if int(at) >= len(b.slots) || b.slots[at].op == nil || b.userData(at) != c.userData&^ofCancel {
		return done
	}
	s := &b.slots[at]
	op := s.op
	if c.userData&ofCancel != 0 {
		if syscall.Errno(-c.res) == syscall.EALREADY { // it was under way, and may wait anew
			b.Cancel(op)
		}
		return done
	}
	s.op = nil
	s.uses = (s.uses + 1) &^ (ofCancel >> 32)
	b.free = append(b.free, at)
	b.inFlight--

	op.InFlight = false
	switch {
	case c.res < 0:
		op.Err = syscall.Errno(-c.res)
	case c.res == 0 && op.Kind != proactor.Send:
		op.Err = io.EOF
	case c.flags&cqeBuffer != 0:
		op.Buf, op.Swap = b.buffers.take(c), true
		if c.flags&cqeBufferMore == 0 && op.Desc.Gone == proactor.None { // the descriptor of one that is gone is another's
			op.Buf = b.buffers.join(op.Desc, op.Buf)
		}
		op.Size = len(op.Buf)
	case op.Kind == proactor.Readable: // it could be read now
	default:
		op.Size += int(c.res)
	}
	if op.Kind != proactor.Send {
		if op.Desc.Ready = proactor.CanRead; c.res > 0 && c.flags&cqeSockNonempty == 0 {
			op.Desc.Ready = 0
		}
	}
	return append(done, op)
}

// ready is asked by the waiter, first before it waits: a completion from here on signals. While
// it runs, the waiter cannot be closed, and so the ring is mapped.
func (b *Backend) ready() bool {
	b.ring.silence(false)
	return b.woken.Swap(false) || b.hasEarly.Load() || b.ring.Ready()
}

// Wait implements [proactor.Backend].
func (b *Backend) Wait(timeout time.Duration) error { return b.waiter.Wait(timeout) }

// Yield implements [proactor.Backend].
func (b *Backend) Yield() { b.waiter.Yield() }

// Wake implements [proactor.Backend].
func (b *Backend) Wake() {
	if !b.woken.Swap(true) {
		sys.EventfdSignal(b.event)
	}
}

// Close implements [proactor.Backend].
func (b *Backend) Close(done []*proactor.Op) []*proactor.Op {
	for i := range b.slots {
		if op := b.slots[i].op; op != nil {
			b.Cancel(op)
		}
	}
	done = b.await(done)
	_ = b.flush()
	for _, fd := range b.closing {
		sys.CloseSocket(int(fd))
	}
	b.waiter.Close()
	b.ring.close()
	if b.inFlight > 0 {
		done = b.abandon(done)
	} else {
		b.buffers.close()
	}
	b.slots, b.buffers = nil, nil
	return done
}

// await polls until all is back, or nothing comes any more.
func (b *Backend) await(done []*proactor.Op) []*proactor.Op {
	var err error
	for vain := 0; b.inFlight > 0 && vain < b.closeLooks && (err == nil || err == syscall.EAGAIN); {
		before := b.inFlight
		if done, err = b.Poll(done); b.inFlight < before {
			vain = 0
			continue
		}
		vain++
		time.Sleep(time.Millisecond)
	}
	return done
}

// abandon appends what the kernel did not return. It may use the memory of it still, as a
// ring's close does not wait for that: nobody else may.
func (b *Backend) abandon(done []*proactor.Op) []*proactor.Op {
	leak(b.buffers)
	for i := range b.slots {
		if op := b.slots[i].op; op != nil {
			leak(op.Buf)
			op.Buf, op.Size = nil, 0
			op.InFlight, op.Leaked, op.Err = false, true, syscall.ECANCELED
			done = append(done, op)
		}
	}
	return done
}
