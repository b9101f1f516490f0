package aio

import (
	"syscall"

	"evenkeel.dev/internal/proactor"
)

// TryWrite sends as much of buf as the socket has room for, 64 KiB at the utmost, and returns how much that was. The
// calling goroutine does it, without WaitIO: that saves the way there and back, for answers that are long
// or that nothing else is sent together with. What is left is to be submitted by Write. buf is the
// caller's all the time.
//
// It waits for nothing, and sends nothing, without an error, where it would have to: where operations that write, or end the
// writing, were submitted before and are not over, and where WaitIO or another call works just now. So what it sends stands in order.
// It fails with ErrEmptyBuffer, ErrClosed, ErrWatcherClosed or a syscall.Errno such as EPIPE.
func (c *Conn) TryWrite(buf []byte) (n int, err error) {
	w, d := c.watcher(), &c.desc
	switch {
	case w == nil:
		return 0, ErrClosed // no Watcher has made it
	case len(buf) == 0:
		return 0, ErrEmptyBuffer
	case !w.mu.TryLock():
		return 0, nil
	}
	defer w.mu.Unlock()
	if d.Gone != proactor.None {
		return 0, errOf(d.Gone)
	}
	if free, err := w.writable(d); !free {
		return 0, err
	}
	n, err = w.backend.Send(d, buf[:min(len(buf), proactor.MaxTransfer)])
	w.stats.BytesWritten += uint64(n)
	if err == syscall.EAGAIN || err == syscall.ENOBUFS { // Write waits
		err = nil
	}
	return n, err
}

// writable reports whether nothing that was submitted to d stands before a write, or why there can be none. The caller holds mu.
func (w *Watcher) writable(d *proactor.Desc) (bool, error) {
	w.subMu.Lock()
	defer w.subMu.Unlock()
	switch {
	case w.refuses:
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
