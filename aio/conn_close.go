package aio

import (
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// CloseWrite submits the end of this side's sending (shutdown(2) with SHUT_WR): behind the writes that
// were submitted before, the peer finds the end, and what it sends can still be read. The Result's Op is
// OpCloseWrite. At the deadline, when writes before it are not over, it is returned with ErrDeadline, and
// nothing was ended. A write after it fails with syscall.EPIPE; of a connection that the peer has reset
// the Result's Error is syscall.ENOTCONN. See Read for tag, deadline and what is refused.
func (c *Conn) CloseWrite(tag any, deadline time.Time) error {
	return c.submit(proactor.ShutWrite, false, tag, nil, deadline)
}

// CloseAfterWrites submits a close behind the writes that were submitted before: when all of them are
// over, or failed, and at the deadline at the latest, the connection is closed as by Close. Until then its
// pending reads go on; new operations are refused with ErrClosed from now on, and so is a second
// CloseAfterWrites.
//
// The Result has the tag and the Op OpClose, and the connection is closed by the time that WaitIO returns
// it. Its Error is nil when the writes before it are over, each with its own Error; ErrDeadline when
// the deadline came first: writes that were not over are then returned with ErrClosed, some after this
// Result, and Size says what was sent of them. Close, meanwhile, closes at once; then its Error is ErrClosed
// unless the writes were over by that.
//
// That a write is over says that the kernel has its bytes, which goes on sending them after the close. But
// a close with bytes of the peer unread, or that come after it, resets the connection, and the peer may lose what it
// had not read yet (RFC 9112, 9.6). Where the peer may still be sending, submit a CloseWrite, read to
// io.EOF with a deadline, and Close.
//
// It is refused with ErrClosed only: a full queue does not hinder it. It fails as Read does.
func (c *Conn) CloseAfterWrites(tag any, deadline time.Time) error {
	return c.submit(proactor.Closing, false, tag, nil, deadline)
}

// leave releases what waited for its writes. The caller holds mu, and no operation that the backend has
// returned waits to be looked at.
func (w *Watcher) leave() {
	for _, d := range w.table.leaving {
		if d.Gone == proactor.None {
			w.release(d, proactor.ConnClosed)
		}
	}
	clear(w.table.leaving)
	w.table.leaving = w.table.leaving[:0]
}
