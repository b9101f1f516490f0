package gaio

import (
	"context"
	"net"
	"runtime"
	"time"

	"evenkeel.dev/aio"
)

// OpType is the type of an operation.
type OpType = aio.Op

const (
	OpRead  = aio.OpRead  // Read, ReadTimeout or ReadFull
	OpWrite = aio.OpWrite // Write or WriteTimeout
)

// OpResult is an operation that is over.
type OpResult struct {
	Operation OpType
	Context   any      // what it was submitted with
	Conn      net.Conn // as it was submitted

	// Buffer is the caller's buffer, theirs again. For a read without one, it is the part of the
	// watcher's swap buffer that was read into (IsSwapBuffer), valid until the next WaitIO.
	// Buffer[:Size] was transferred. It is nil where the kernel kept the caller's: see aio's
	// Watcher.Close.
	Buffer       []byte
	IsSwapBuffer bool
	Size         int

	// Error is nil, io.EOF when the peer has ended, ErrDeadline, ErrWatcherClosed,
	// io.ErrClosedPipe when the connection was freed meanwhile, another error of this package,
	// or a syscall.Errno such as ECONNRESET. It is not wrapped.
	Error error
}

// Watcher carries out operations on the connections that are delegated to it. Its methods may be
// called by any goroutine, WaitIO by one at a time. A Watcher that is forgotten is closed by the
// garbage collector.
type Watcher struct{ t *table }

// maxBytes is the limit of aio.Options.MaxQueuedBytes: gaio has none.
const maxBytes = 1 << 40

// maxQueued is the limit of aio.Options.MaxQueued.
const maxQueued = 1 << 20

// NewWatcher returns a Watcher with all defaults.
func NewWatcher() (*Watcher, error) { return NewWatcherSize(0) }

// NewWatcherSize returns a Watcher whose swap buffer has bufsize bytes; 64 KiB when it is 0. As gaio knows no
// bound of what is queued, it is as high as aio has it: 2^20 operations a connection.
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

// Over returns a Watcher over w, which belongs to it from now on. gaio has no such function: it is
// for other options than the defaults.
func Over(w *aio.Watcher) *Watcher {
	t := newTable(w)
	g := &Watcher{t}
	runtime.AddCleanup(g, func(t *table) { t.close() }, t)
	return g
}

// Read submits a read of whatever comes first, up to len(buf) bytes. The watcher owns buf until
// the operation is returned. With a nil buf the swap buffer is used, when there is something to
// read and not before.
//
// The first operation on conn delegates it: the watcher owns its descriptor from then on, and
// conn's own methods fail, but for RemoteAddr and LocalAddr. Socket options stay.
func (w *Watcher) Read(ctx any, conn net.Conn, buf []byte) error {
	return w.ReadTimeout(ctx, conn, buf, aio.NoDeadline)
}

// ReadTimeout is Read with a deadline, after which it is returned with ErrDeadline; none when
// zero. It is tried in any case: what is there is read even when the deadline has passed.
func (w *Watcher) ReadTimeout(ctx any, conn net.Conn, buf []byte, deadline time.Time) error {
	return w.t.submit(read, ctx, conn, buf, deadline)
}

// ReadFull submits a read that is over when buf is full. At the deadline, or the peer's end,
// Size says how much was read.
func (w *Watcher) ReadFull(ctx any, conn net.Conn, buf []byte, deadline time.Time) error {
	return w.t.submit(readFull, ctx, conn, buf, deadline)
}

// Write submits a write of all of buf. The watcher owns buf until the operation is returned; a
// part of the swap buffer can be written only if it is copied, as it is used anew by then.
func (w *Watcher) Write(ctx any, conn net.Conn, buf []byte) error {
	return w.WriteTimeout(ctx, conn, buf, aio.NoDeadline)
}

// WriteTimeout is Write with a deadline, at which it is returned with ErrDeadline, and Size says
// how much was written; none when zero.
func (w *Watcher) WriteTimeout(ctx any, conn net.Conn, buf []byte, deadline time.Time) error {
	return w.t.submit(write, ctx, conn, buf, deadline)
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
	return w.t.waitIO()
}

// Free closes conn at once, delegated or not. What was submitted before is tried once; what is
// not over then is returned by WaitIO with io.ErrClosedPipe. It may be called again.
func (w *Watcher) Free(conn net.Conn) error { return w.t.free(conn) }

// Close closes all delegated connections and ends a WaitIO. What is pending is returned by WaitIO
// with ErrWatcherClosed. It always returns nil, and may be called again.
func (w *Watcher) Close() error {
	w.t.close()
	return nil
}

// Shutdown is aio's Watcher.Shutdown: it lets the pending writes finish before it closes.
func (w *Watcher) Shutdown(ctx context.Context) error {
	defer w.t.close()
	return w.t.watcher.Shutdown(ctx)
}

// Stats is aio's Watcher.Stats. Operations that were refused count as posts, which are over at once.
func (w *Watcher) Stats() aio.Stats { return w.t.watcher.Stats() }

// SetPollerAffinity is SetLoopAffinity: one thread does both here. After Close it fails with ErrPollerClosed.
func (w *Watcher) SetPollerAffinity(cpu int) error { return w.t.setAffinity(cpu, ErrPollerClosed) }

// SetLoopAffinity locks the goroutine that is in WaitIO, from its next call on, to its thread,
// and that to a CPU, by the system's number of it: under taskset -c 1 that is 1. It fails with
// ErrCPUID when there is no such CPU, or this process may not run on it, and after Close with ErrConnClosed,
// as in gaio.
func (w *Watcher) SetLoopAffinity(cpu int) error { return w.t.setAffinity(cpu, ErrConnClosed) }

// GetGC returns how many delegated connections the garbage collector has found forgotten, and
// how many of these were closed since.
func (w *Watcher) GetGC() (found, closed uint32) { return w.t.getGC() }
