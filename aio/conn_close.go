package aio

import (
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// CloseWrite submits the end of the sending side (shutdown(2) with SHUT_WR), behind the writes that
// were submitted before. The connection can still be read. If these writes are not over at the
// deadline, the Error is ErrDeadline and the sending side stays open. A later write fails with
// syscall.EPIPE. See Read.
func (c *Conn) CloseWrite(tag any, deadline time.Time) error {
	return c.submit(proactor.ShutWrite, false, tag, nil, deadline)
}

// CloseAfterWrites submits a close behind the writes that were submitted before. The connection is
// closed when they are over or failed, or at the deadline. Pending reads go on until then. New
// operations are refused with ErrClosed.
//
// When WaitIO returns the Result, the connection is closed. The Error is nil, ErrDeadline if writes
// were left, which WaitIO returns with ErrClosed, or ErrClosed if Close came first.
//
// A write that is over is in the kernel, which goes on sending after the close. But if bytes of the
// peer are unread, or arrive later, the kernel resets the connection, and the peer may lose data
// (RFC 9112, 9.6). If the peer may still send, submit a CloseWrite, read to io.EOF with a deadline,
// and Close.
//
// A full queue does not refuse it. See Read.
func (c *Conn) CloseAfterWrites(tag any, deadline time.Time) error {
	return c.submit(proactor.Closing, false, tag, nil, deadline)
}

// leave releases connections whose last write is over. The caller holds mu, and has looked at all
// operations that the backend returned.
func (w *Watcher) leave() {
	for _, d := range w.table.leaving {
		if d.Gone == proactor.None {
			w.release(d, proactor.ConnClosed)
		}
	}
	clear(w.table.leaving)
	w.table.leaving = w.table.leaving[:0]
}
