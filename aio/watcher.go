package aio

import (
	"context"
	"net"
	"runtime"
	"time"

	"evenkeel.dev/internal/proactor"
)

// OpType is the type of an operation.
type OpType int

const (
	OpRead  OpType = iota // Read, ReadTimeout or ReadFull
	OpWrite               // Write or WriteTimeout
)

// OpResult is an operation that is over.
type OpResult struct {
	Operation OpType
	Context   any      // the tag it was submitted with
	Conn      net.Conn // as it was submitted

	// Buffer is the user's buffer, theirs again. For a read without one, it is a part of the
	// watcher's swap buffer (IsSwapBuffer) that is valid until the next WaitIO, or 16 bytes of
	// its own where that was full. Buffer[:Size] was transferred. It is nil where the kernel kept
	// the user's: see Watcher.Close.
	Buffer       []byte
	IsSwapBuffer bool
	Size         int

	// Error is nil, io.EOF when the peer has ended, ErrDeadline, ErrWatcherClosed,
	// io.ErrClosedPipe when the connection was freed meanwhile, another error of this package,
	// or a syscall.Errno such as ECONNRESET. It is not wrapped.
	Error error
}

// Watcher carries out operations on the connections that are delegated to it. Its methods may be
// called by any goroutine, WaitIO by one at a time. A Watcher that is forgotten is closed by the garbage collector.
type Watcher struct{ l *loop }

// NewWatcher returns a Watcher with all defaults.
func NewWatcher() (*Watcher, error) { return New(Options{}) }

// NewWatcherSize returns a Watcher whose swap buffer has bufsize bytes.
func NewWatcherSize(bufsize int) (*Watcher, error) { return New(Options{SwapSize: bufsize}) }

// New returns a Watcher. It fails with an *UnsupportedError where the system lacks the backend,
// and when the process has no more descriptors.
func New(o Options) (*Watcher, error) {
	o, err := o.normal()
	if err != nil {
		return nil, err
	}
	b, err := open(o)
	if err != nil {
		return nil, err
	}
	return newWatcher(o, b), nil
}

// NewOver returns a Watcher over a backend of its own; o.Backend is not looked at. It is for
// package aiotest: the interface is internal.
func NewOver(o Options, b proactor.Backend) (*Watcher, error) {
	o, err := o.normal()
	if err != nil {
		return nil, err
	}
	return newWatcher(o, b), nil
}

func newWatcher(o Options, b proactor.Backend) *Watcher {
	l := newLoop(o, b)
	w := &Watcher{l}
	runtime.AddCleanup(w, func(l *loop) { l.close() }, l)
	return w
}

// Read submits a read of whatever comes first, up to len(buf) bytes. The watcher owns buf until
// the operation is returned. With a nil buf the swap buffer is used, when there is something to
// read and not before.
//
// The first operation on conn delegates it: the watcher owns its descriptor from then on, and
// conn's own methods fail, but for RemoteAddr and LocalAddr. Socket options stay.
func (w *Watcher) Read(tag any, conn net.Conn, buf []byte) error {
	return w.ReadTimeout(tag, conn, buf, time.Time{})
}

// ReadTimeout is Read with a deadline, after which it is returned with ErrDeadline; none when
// zero. It is tried in any case: what is there is read even when the deadline has passed.
func (w *Watcher) ReadTimeout(tag any, conn net.Conn, buf []byte, deadline time.Time) error {
	if buf == nil {
		return w.l.submit(request{kind: proactor.Readable, tag: tag, conn: conn, deadline: deadline})
	}
	return w.l.submit(request{kind: proactor.Recv, tag: tag, conn: conn, buf: buf, deadline: deadline})
}

// ReadFull submits a read that is over when buf is full. At the deadline, or the peer's end,
// Size says how much was read.
func (w *Watcher) ReadFull(tag any, conn net.Conn, buf []byte, deadline time.Time) error {
	return w.l.submit(request{kind: proactor.Recv, tag: tag, conn: conn, buf: buf, deadline: deadline, full: true})
}

// Write submits a write of all of buf. The watcher owns buf until the operation is returned; a
// part of the swap buffer can be written only if it is copied, as it is used anew by then.
func (w *Watcher) Write(tag any, conn net.Conn, buf []byte) error {
	return w.WriteTimeout(tag, conn, buf, time.Time{})
}

// WriteTimeout is Write with a deadline, at which it is returned with ErrDeadline, and Size says
// how much was written; none when zero.
func (w *Watcher) WriteTimeout(tag any, conn net.Conn, buf []byte, deadline time.Time) error {
	return w.l.submit(request{kind: proactor.Send, tag: tag, conn: conn, buf: buf, deadline: deadline})
}

// WaitIO drives the watcher until operations are over, and returns them; each is returned once.
// Operations progress only while a goroutine is in WaitIO. The slice and swap buffers in it are
// valid until the next call, by whatever goroutine: while one is in WaitIO, a call by another
// returns ErrWaiting and does nothing.
//
// After Close it returns the operations that were pending with ErrWatcherClosed, and then
// ErrWatcherClosed itself. Another error is the operating system's refusal to be waited for.
func (w *Watcher) WaitIO() ([]OpResult, error) {
	defer runtime.KeepAlive(w)
	return w.l.waitIO()
}

// Free closes conn at once, delegated or not. What was submitted before is tried once; what is
// not over then is returned by WaitIO with io.ErrClosedPipe. It may be called again.
func (w *Watcher) Free(conn net.Conn) error { return w.l.freeConn(conn) }

// Attach delegates conn, and returns a handle that stands for it in the calls of this Watcher:
// these need no look-up then, and conn itself can be forgotten.
func (w *Watcher) Attach(conn net.Conn) (*Conn, error) { return w.l.attach(conn) }

// Close closes all delegated connections and ends a WaitIO. What is pending is returned by WaitIO
// with ErrWatcherClosed. It may be called again.
//
// What the kernel does not give back on io_uring within two seconds, as the thread that submitted it
// hangs in a system call, is returned with a nil Buffer and Size 0: the kernel may still use the one
// submitted, so it is never freed, nor to be used again. Stats.Leaked counts these; Logger gets a Warn.
func (w *Watcher) Close() error {
	w.l.close()
	return nil
}

// Shutdown refuses new operations, ends the pending reads with ErrWatcherClosed, lets the pending
// writes finish, and closes the Watcher when WaitIO has returned all of them: a goroutine has to
// call it meanwhile. When ctx ends first the Watcher is closed as by Close, and ctx's error is
// returned.
func (w *Watcher) Shutdown(ctx context.Context) error { return w.l.shutdown(ctx) }

// SetPollerAffinity is SetLoopAffinity: one thread does both here.
func (w *Watcher) SetPollerAffinity(cpu int) error { return w.l.setAffinity(cpu) }

// SetLoopAffinity locks the goroutine that is in WaitIO, from its next call on, to its thread,
// and that to a CPU, by the system's number of it: under taskset -c 1 that is 1. It fails with
// ErrCPUID when there is no such CPU, or this process may not run on it.
func (w *Watcher) SetLoopAffinity(cpu int) error { return w.l.setAffinity(cpu) }

// GetGC returns how many delegated connections the garbage collector has found forgotten, and
// how many of these were closed since.
func (w *Watcher) GetGC() (found, closed uint32) { return w.l.getGC() }

// Stats returns counters since the Watcher was made. It costs a lock that WaitIO holds while it
// works.
func (w *Watcher) Stats() Stats { return w.l.readStats() }
