package aio

import (
	"syscall"

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
