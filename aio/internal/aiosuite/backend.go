// Package aiosuite tests the backends of package aio. A conformance suite holds each backend to the
// same behaviour, and a model checks random programs of operations.
//
// A [Backend] takes the place of the kernel. It works in bubbles of testing/synctest, as io_uring
// does or as epoll does, and with faults. Package aiotest is its public face.
package aiosuite

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/proactor"
)

type Mode int

const (
	Completion Mode = iota // as io_uring: Poll returns all operations, cancelled ones too
	Readiness              // as epoll: an operation may be over at once
)

func (m Mode) String() string {
	if m == Readiness {
		return "readiness"
	}
	return "completion"
}

type Options struct {
	Mode Mode

	Seed uint64

	Faults Faults
}

// Backend is a kernel in memory, for ends of [Pair] and for a [Listener]. It checks that its
// Watcher keeps the contract of [proactor.Backend]. See Violations.
type Backend struct {
	o      Options
	signal chan struct{} // makes Wait return
	down   chan struct{} // closed by Close

	mu         sync.Mutex // the Watcher calls Wait without its lock
	dice       dice
	fds        []*fd // by number. Nil: free
	flights    []*flight
	closed     bool
	waiting    bool
	violations []string
}

type fd struct {
	socket   *Socket
	listener *Listener // or else this
}

func (f *fd) ready() (r proactor.Ready) {
	switch {
	case f.listener == nil:
		return f.socket.Ready()
	case f.listener.ready():
		return proactor.CanRead
	}
	return 0
}

type flight struct {
	op    *proactor.Op
	fd    *fd
	due   time.Time // nothing happens before
	tried bool      // as a kernel does before a cancellation
	moved bool      // the completion has n and err
	n     int
	err   error
}

var _ proactor.Backend = (*Backend)(nil)

func NewWatcher(o aio.Options, b proactor.Backend) (*aio.Watcher, error) {
	w, err := proactor.NewWatcher(o, b)
	if err != nil {
		return nil, err
	}
	return w.(*aio.Watcher), nil
}

func NewBackend(o Options) *Backend {
	return &Backend{o: o, dice: newDice(o.Seed), signal: make(chan struct{}, 1), down: make(chan struct{})}
}

// Violations returns what the Watcher did against the contract, and which descriptors it left open.
func (b *Backend) Violations() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := slices.Clone(b.violations)
	for num, f := range b.fds {
		if f != nil && b.closed {
			v = append(v, fmt.Sprintf("descriptor %d is still open after Close", num))
		}
	}
	return v
}

// violation notes one. The caller holds mu, as in the unexported methods below.
func (b *Backend) violation(format string, args ...any) {
	if len(b.violations) < 10 {
		b.violations = append(b.violations, fmt.Sprintf(format, args...))
	}
}

func (b *Backend) Name() string { return "fake " + b.o.Mode.String() }

// It takes ends of [Pair] and a [Listener] only.
func (b *Backend) Open(source any, d *proactor.Desc) (err error) {
	f := &fd{}
	switch c := source.(type) {
	case *Conn:
		f.socket, err = c.dup()
	case *Listener:
		f.listener, err = c, c.dup(b)
	default:
		err = proactor.ErrNoDescriptor
	}
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		b.violation("Open after Close")
	}
	b.enter(f, d)
	return nil
}

// enter gives f the lowest free number, as the kernel does.
func (b *Backend) enter(f *fd, d *proactor.Desc) {
	num := slices.Index(b.fds, nil)
	if num < 0 {
		num = len(b.fds)
		b.fds = append(b.fds, nil)
	}
	b.fds[num] = f
	if f.socket != nil {
		f.socket.Watch(b.look)
	}
	d.Num, d.Stream = int32(num), true
}

func (b *Backend) Release(d *proactor.Desc) {
	b.mu.Lock()
	f := b.fd(d, "Release")
	for _, fl := range b.flights {
		if fl.fd == f && !fl.moved {
			b.violation("Release of descriptor %d with an operation in flight that was not cancelled", d.Num)
		}
	}
	if f != nil {
		b.fds[d.Num] = nil
	}
	d.Num = -1 // another socket may get the number
	b.mu.Unlock()
	switch {
	case f == nil:
	case f.listener != nil:
		f.listener.release(b)
	default:
		f.socket.Watch(nil)
		f.socket.Close()
	}
}

func (b *Backend) Detach(d *proactor.Desc) (net.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.fd(d, "Detach")
	switch {
	case f == nil || f.socket == nil:
		return nil, syscall.EINVAL
	case b.dice.hit(b.o.Faults.NoDescriptors):
		return nil, syscall.EMFILE
	}
	b.leave(f, d, "Detach")
	f.socket.Watch(nil)
	return &Conn{socket: f.socket, local: "a", remote: "b"}, nil
}

// leave frees the number of f, whose socket stays open.
func (b *Backend) leave(f *fd, d *proactor.Desc, what string) {
	if slices.ContainsFunc(b.flights, func(fl *flight) bool { return fl.fd == f }) {
		b.violation("%s of descriptor %d with an operation in flight", what, d.Num)
	}
	b.fds[d.Num], d.Num = nil, -1
}

func (b *Backend) Move(d *proactor.Desc, to proactor.Backend, moved *proactor.Desc) bool {
	other, ok := to.(*Backend)
	if !ok {
		return false
	}
	b.mu.Lock()
	f := b.fd(d, "Move")
	moves := f != nil && f.socket != nil
	if moves {
		b.leave(f, d, "Move")
	}
	b.mu.Unlock()
	if !moves {
		return false
	}
	other.mu.Lock()
	defer other.mu.Unlock()
	other.enter(f, moved)
	return true
}

// There is no descriptor.
func (b *Backend) Control(*proactor.Desc, func(fd uintptr)) bool { return false }

func (b *Backend) fd(d *proactor.Desc, what string) *fd {
	if d.Num < 0 || int(d.Num) >= len(b.fds) || b.fds[d.Num] == nil {
		b.violation("%s of a descriptor that is closed", what)
		return nil
	}
	return b.fds[d.Num]
}

func (b *Backend) Start(op *proactor.Op) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	fl := &flight{op: op, fd: b.fd(op.Desc, "Start"), due: time.Now().Add(b.dice.delay(b.o.Faults.Delay))}
	switch {
	case fl.fd == nil:
		op.Err = syscall.EBADF
		return true
	case b.closed:
		b.violation("Start after Close")
	case op.Kind == proactor.ShutWrite:
		op.Err = fl.fd.socket.closeWrite()
		return true
	case op.Kind <= proactor.Sendv && len(rest(op)) == 0:
		b.violation("Start of an operation with nothing left to transfer")
	case op.Desc.Released != proactor.None || op.Cause != proactor.None:
		b.violation("Start of an operation that was cancelled")
	}
	for _, other := range b.flights {
		if other.fd == fl.fd && other.op.Kind.Dir() == op.Kind.Dir() {
			b.violation("Start while another operation of that direction is in flight")
		}
	}
	if b.o.Mode == Readiness && !b.dice.hit(b.o.Faults.Again) && b.move(fl) {
		op.Size += fl.n
		op.Err = fl.err
		return true
	}
	op.InFlight = true
	b.flights = append(b.flights, fl)
	return false
}

// move carries out the transfer if it is possible.
func (b *Backend) move(fl *flight) bool {
	fl.tried = true
	f, op := b.o.Faults, fl.op
	ready := fl.fd.ready()
	switch op.Kind {
	case proactor.Readable, proactor.Accept:
		fl.moved = ready&proactor.CanRead != 0 || b.dice.hit(f.Spurious)
	case proactor.Connect:
		fl.moved = true
	case proactor.Send, proactor.Sendv:
		if ready&proactor.CanWrite == 0 {
			return false
		}
		if b.dice.hit(f.NoBuffers) {
			fl.moved, fl.err = true, syscall.ENOBUFS
			return true
		}
		rest := rest(op)
		fl.finish(fl.fd.socket.Send(rest[:b.dice.some(len(rest), f.ShortWrite)]))
	default:
		if ready&proactor.CanRead == 0 {
			return false
		}
		rest := op.Rest()
		fl.finish(fl.fd.socket.Recv(rest[:b.dice.some(len(rest), f.ShortRead)]))
	}
	return fl.moved
}

func rest(op *proactor.Op) []byte {
	if op.Kind == proactor.Sendv {
		bufs, _ := op.Tag.(*proactor.Vec).Next()
		return bytes.Join(bufs, nil)
	}
	return op.Rest()
}

func (fl *flight) finish(n int, err error) {
	if err != syscall.EAGAIN {
		fl.n, fl.err, fl.moved = n, err, true
	}
}

func (b *Backend) Recv(d *proactor.Desc, buf []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.fd(d, "Recv")
	if f == nil {
		return 0, syscall.EBADF
	}
	if b.dice.hit(b.o.Faults.Spurious) {
		return 0, syscall.EAGAIN
	}
	return f.socket.Recv(buf[:b.dice.some(len(buf), b.o.Faults.ShortRead)])
}

func (b *Backend) Send(d *proactor.Desc, buf []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.fd(d, "Send")
	switch {
	case f == nil:
		return 0, syscall.EBADF
	case slices.ContainsFunc(b.flights, func(fl *flight) bool {
		return fl.fd == f && fl.op.Kind.Dir() == proactor.Out
	}):
		b.violation("Send while an operation that writes is in flight")
	case b.dice.hit(b.o.Faults.Again):
		return 0, syscall.EAGAIN
	case b.dice.hit(b.o.Faults.NoBuffers):
		return 0, syscall.ENOBUFS
	}
	return f.socket.Send(buf[:b.dice.some(len(buf), b.o.Faults.ShortWrite)])
}

func (b *Backend) Sendv(d *proactor.Desc, v *proactor.Vec) (int, error) {
	bufs, _ := v.Next()
	return b.Send(d, bytes.Join(bufs, nil))
}

func (b *Backend) Yield() { runtime.Gosched() }

// It has no swap memory.
func (b *Backend) Recycle() bool { return false }

func (b *Backend) Sleeps(*proactor.Op) bool    { return false }
func (b *Backend) OnEdge(func(*proactor.Desc)) {}
func (b *Backend) Holds() *proactor.Held       { return nil }

// Faults are chances from 0 to 1. With a 1 of any but Again, Delay and Reorder, operations never end.
type Faults struct {
	ShortRead     float64
	ShortWrite    float64
	Again         float64 // a transfer wrongly finds that it cannot
	Spurious      float64 // a read is wrongly reported as possible
	Delay         float64 // a transfer, or its completion, takes up to 2 ms
	Reorder       float64 // completions come in any order, or in part
	NoBuffers     float64 // a send finds no kernel memory
	NoDescriptors float64
	Cancelled     float64 // the kernel cancels an operation by itself
	LateCancel    float64 // a cancellation comes after the transfer
}

// AllFaults returns all faults, n times as often as usual.
func AllFaults(n float64) Faults {
	return Faults{
		ShortRead: .3 * n, ShortWrite: .3 * n, Again: .2 * n, Spurious: .2 * n, Delay: .2 * n, Reorder: .5 * n,
		NoBuffers: .1 * n, NoDescriptors: .2 * n, Cancelled: .1 * n, LateCancel: .5 * n,
	}
}

type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0))} }

// hit draws nothing at a chance of 0.
func (d dice) hit(chance float64) bool { return chance > 0 && d.Float64() < chance }

// some returns n, or with that chance 1 to n.
func (d dice) some(n int, chance float64) int {
	if n > 1 && d.hit(chance) {
		return 1 + d.IntN(n-1)
	}
	return n
}

// delay returns 0, or with that chance up to 2 ms.
func (d dice) delay(chance float64) time.Duration {
	if d.hit(chance) {
		return time.Duration(d.Int64N(int64(2 * time.Millisecond)))
	}
	return 0
}
