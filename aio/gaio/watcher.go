package gaio

import (
	"net"
	"runtime"
	"time"

	"evenkeel.dev/aio"
)

// OpType is the kind of an operation.
type OpType = aio.Op

const (
	OpRead  = aio.OpRead  // Read, ReadTimeout or ReadFull
	OpWrite = aio.OpWrite // Write or WriteTimeout
)

// OpResult is an operation that is over.
type OpResult struct {
	Operation OpType
	Context   any      // of the submission
	Conn      net.Conn // of the submission

	// Buffer is the buffer of the submission, which the caller owns again. Buffer[:Size] was
	// transferred. After a read with a nil buffer, IsSwapBuffer is set, and Buffer is valid until
	// the next WaitIO. It is nil if the kernel kept it.
	Buffer       []byte
	IsSwapBuffer bool
	Size         int

	// Error is nil, io.EOF at the peer's end, io.ErrClosedPipe after a Free, an error of this
	// package, or a syscall.Errno such as ECONNRESET. It is not wrapped.
	Error error
}

// Watcher carries out operations on delegated connections. Any goroutine may call its methods, but
// one at a time is in WaitIO. The garbage collector closes a forgotten Watcher.
type Watcher struct{ t *table }

// gaio has no such limits. These are the largest that aio.Options allows.
const maxBytes = 1 << 40

const maxQueued = 1 << 20

// NewWatcher returns a Watcher with defaults.
func NewWatcher() (*Watcher, error) { return NewWatcherSize(0) }

// NewWatcherSize returns a Watcher whose swap buffer has bufsize bytes, or 64 KiB for 0.
func NewWatcherSize(bufsize int) (*Watcher, error) {
	w, err := aio.New(aio.Options{
		SwapSize: bufsize, MaxQueued: maxQueued, MaxQueuedBytes: maxBytes,
		MaxWatcherBytes: maxBytes,
	})
	if err != nil {
		return nil, err
	}
	return Over(w), nil
}

// Over returns a Watcher over w, which it owns, for other options and for w's Stats. These count
// refused operations as posts. gaio has no such function.
func Over(w *aio.Watcher) *Watcher {
	t := &table{watcher: w, conns: map[uintptr]*entry{}}
	t.attached.L, t.forgotten = &t.mu, t.forget
	g := &Watcher{t}
	runtime.AddCleanup(g, func(t *table) { t.close() }, t)
	return g
}

// Read submits a read of up to len(buf) bytes. The watcher owns buf until WaitIO returns the
// operation. A nil buf uses the swap buffer. The first operation on conn delegates it.
func (w *Watcher) Read(ctx any, conn net.Conn, buf []byte) error {
	return w.ReadTimeout(ctx, conn, buf, aio.NoDeadline)
}

// ReadTimeout is Read with a deadline, or none if it is zero. It is tried once even after that.
func (w *Watcher) ReadTimeout(ctx any, conn net.Conn, buf []byte, deadline time.Time) error {
	return w.t.submit(read, ctx, conn, buf, deadline)
}

// ReadFull submits a read that is over when buf is full. Size says how much was read.
func (w *Watcher) ReadFull(ctx any, conn net.Conn, buf []byte, deadline time.Time) error {
	return w.t.submit(readFull, ctx, conn, buf, deadline)
}

// Write submits a write of all of buf. Copy a part of the swap buffer before you write it.
func (w *Watcher) Write(ctx any, conn net.Conn, buf []byte) error {
	return w.WriteTimeout(ctx, conn, buf, aio.NoDeadline)
}

// WriteTimeout is Write with a deadline, or none if it is zero.
func (w *Watcher) WriteTimeout(ctx any, conn net.Conn, buf []byte, deadline time.Time) error {
	return w.t.submit(write, ctx, conn, buf, deadline)
}

// WaitIO is [aio.Watcher.WaitIO].
func (w *Watcher) WaitIO() ([]OpResult, error) {
	defer runtime.KeepAlive(w)
	return w.t.waitIO()
}

// Free closes conn at once, delegated or not. Pending operations are tried once and then end with
// io.ErrClosedPipe.
func (w *Watcher) Free(conn net.Conn) error { return w.t.free(conn) }

// Close closes all delegated connections. WaitIO returns pending operations with ErrWatcherClosed.
func (w *Watcher) Close() error {
	w.t.close()
	return nil
}

// SetPollerAffinity is SetLoopAffinity. After Close it fails with ErrPollerClosed.
func (w *Watcher) SetPollerAffinity(cpu int) error { return w.t.setAffinity(cpu, ErrPollerClosed) }

// SetLoopAffinity binds the goroutine in WaitIO to a CPU, from the next call on. It fails with
// ErrCPUID if this process may not run on it, and after Close with ErrConnClosed.
func (w *Watcher) SetLoopAffinity(cpu int) error { return w.t.setAffinity(cpu, ErrConnClosed) }

// GetGC returns how many delegated connections the garbage collector found, and how many it closed.
func (w *Watcher) GetGC() (found, closed uint32) {
	n := w.t.gc.Load()
	return n, n
}
