package aio

import (
	"syscall"

	"evenkeel.dev/aio/internal/proactor"
)

// TryWrite sends as much of buf as the socket has room for, 64 KiB at the utmost, and returns how much that was. The
// calling goroutine does it, without WaitIO: that saves the way there and back, for answers that are long
// or that nothing else is sent together with. What is left is to be submitted by Write. buf is the
// caller's all the time.
//
// It waits for nothing, and sends nothing, without an error, where it would have to: where
// operations that write, or end the writing, were submitted before and are not over, and where
// WaitIO or another call works just now. So what it sends stands in order. It fails with
// ErrEmptyBuffer, ErrClosed, ErrWatcherClosed or a syscall.Errno such as EPIPE.
func (c *Conn) TryWrite(buf []byte) (n int, err error) {
	w, d := c.watcher(), &c.desc
	switch {
	case w == nil:
		return 0, ErrClosed // no Watcher has made it
	case len(buf) == 0:
		return 0, ErrEmptyBuffer
	}
	if free, err := w.lockToWrite(d); !free {
		return 0, err
	}
	defer w.mu.Unlock()
	return w.wrote(w.backend.Send(d, buf[:min(len(buf), proactor.MaxTransfer)]))
}

// TryWritev is TryWrite of bufs, one after the other, by one system call: of up to 1,024 buffers,
// the last of which is the one that reaches 64 KiB. Empty buffers in it are left out. It allocates
// as Writev does.
func (c *Conn) TryWritev(bufs [][]byte) (n int, err error) {
	w, d := c.watcher(), &c.desc
	if w == nil {
		return 0, ErrClosed // no Watcher has made it
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

// lockToWrite takes mu and reports true where a write may be tried at once. Else it does not hold
// mu, and says why there can be no write, or nil where one would have to wait.
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

// wrote is the end of a write that was tried. The caller holds mu.
func (w *Watcher) wrote(n int, err error) (int, error) {
	w.stats.BytesWritten += uint64(n)
	if err == syscall.EAGAIN || err == syscall.ENOBUFS { // Write waits
		err = nil
	}
	return n, err
}

// writable reports whether nothing that was submitted to d stands before a write, or why there can
// be none. The caller holds mu.
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
