package aio

import (
	"syscall"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// TryWrite sends as much of buf as the socket has room for, 64 KiB at most, and returns how much.
// The calling goroutine does it without WaitIO. That saves a hand-off for long answers. Submit the
// rest by Write. The caller keeps buf.
//
// It sends nothing, and returns no error, if a pending operation writes or ends writing, or if
// WaitIO or another call holds the lock. So bytes stay in order. It fails with ErrEmptyBuffer,
// ErrClosed, ErrWatcherClosed or a syscall.Errno such as EPIPE.
func (c *Conn) TryWrite(buf []byte) (n int, err error) {
	w, d := c.watcher(), &c.desc
	switch {
	case w == nil:
		return 0, ErrClosed // the zero Conn
	case len(buf) == 0:
		return 0, ErrEmptyBuffer
	}
	if free, err := w.lockToWrite(d); !free {
		return 0, err
	}
	defer w.mu.Unlock()
	return w.wrote(w.backend.Send(d, buf[:min(len(buf), proactor.MaxTransfer)]))
}

// TryWritev is TryWrite of up to 1,024 buffers by one system call. It skips empty ones. It
// allocates as Writev does.
func (c *Conn) TryWritev(bufs [][]byte) (n int, err error) {
	w, d := c.watcher(), &c.desc
	if w == nil {
		return 0, ErrClosed
	}
	v := w.vec()
	defer w.keep(v)
	if v.Set(bufs) == 0 {
		return 0, ErrEmptyBuffer
	}
	if free, err := w.lockToWrite(d); !free {
		return 0, err
	}
	defer w.mu.Unlock()
	return w.wrote(w.backend.Sendv(d, v))
}

// lockToWrite takes mu and returns true if a write may be tried. Otherwise it does not hold mu, and
// err says why the connection cannot be written to. It is nil if the write would only have to wait.
func (w *Watcher) lockToWrite(d *proactor.Desc) (free bool, err error) {
	if !w.mu.TryLock() {
		return false, nil
	}
	if d.Gone != proactor.None {
		err = errOf(d.Gone)
	} else if free, err = w.writable(d); free {
		return true, nil
	}
	w.mu.Unlock()
	return false, err
}

func (w *Watcher) wrote(n int, err error) (int, error) {
	w.stats.BytesWritten += uint64(n)
	if err == syscall.EAGAIN || err == syscall.ENOBUFS { // a Write would wait
		err = nil
	}
	return n, err
}

// writable reports whether no operation of d comes before a write, or why there can be none. The
// caller holds mu.
func (w *Watcher) writable(d *proactor.Desc) (bool, error) {
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock()
	switch {
	case w.subs.closed:
		return false, ErrWatcherClosed
	case d.Closed:
		return false, ErrClosed
	case d.Queues[proactor.Out].Head != nil:
		return false, nil
	}
	for op := d.Subs.Head; op != nil; op = op.Next {
		if op.Kind.Dir() == proactor.Out {
			return false, nil
		}
	}
	return true, nil
}

// maxVecs is how many lists of buffers are kept for reuse. Each has up to vecKept buffers.
const (
	maxVecs = 256
	vecKept = 1024
)

// Writev submits one write of all of bufs, such as a net.Buffers. One transfer has up to 1,024
// buffers and about 64 KiB (sendmsg(2)). Longer ones take several, with nothing in between.
//
// The Result has OpWrite, a nil Buffer, and the Size of all. The watcher owns the bytes until
// WaitIO returns the operation. The caller keeps the slice bufs. Empty buffers are skipped. If
// there is no other, the Error is ErrEmptyBuffer. Like Read, it allocates only for more operations
// than before, beyond 256 lists, or for more than 1,024 buffers. On macOS and the BSDs each
// transfer allocates.
func (c *Conn) Writev(tag any, bufs [][]byte, deadline time.Time) error {
	w := c.watcher()
	if w == nil {
		return ErrClosed // the zero Conn
	}
	v := w.vec()
	v.Tag = tag
	op := proactor.Op{Desc: &c.desc, Kind: proactor.Sendv, Full: true, Tag: v}
	if v.Set(bufs) == 0 {
		op.Err = ErrEmptyBuffer
	}
	err := w.submit(op, deadline)
	if err != nil {
		w.keep(v)
	}
	return err
}

// vec returns an empty list of buffers.
func (w *Watcher) vec() *proactor.Vec {
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock()
	last := len(w.subs.vecs) - 1
	if last < 0 {
		return new(proactor.Vec)
	}
	v := w.subs.vecs[last]
	w.subs.vecs = w.subs.vecs[:last]
	return v
}

func (w *Watcher) keep(v *proactor.Vec) {
	if v.Clear() > vecKept {
		return
	}
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock()
	if len(w.subs.vecs) < maxVecs {
		w.subs.vecs = append(w.subs.vecs, v)
	}
}

// recycle keeps the list of a Sendv that is over, unless the kernel may still use it.
func (w *Watcher) recycle(op *proactor.Op) {
	if !op.Leaked {
		w.keep(op.Tag.(*proactor.Vec))
	}
}

// tagOf returns the caller's tag.
func tagOf(op *proactor.Op) any {
	if op.Kind == proactor.Sendv {
		return op.Tag.(*proactor.Vec).Tag
	}
	return op.Tag
}
