package aio

import (
	"net"
	"sync/atomic"

	"evenkeel.dev/aio/internal/proactor"
)

// Detach gives the connection back as a *net.TCPConn or a *net.UnixConn with its options. The Conn
// is closed, and the caller owns the net.Conn. With package aio/aiotest it is a connection of that
// package.
//
// Detach does not wait. It fails with ErrPending if WaitIO has not returned all operations of the
// connection: Cancel reads, and call it after their results. Other errors are ErrClosed,
// ErrWatcherClosed, and a syscall.Errno such as EMFILE. It needs two more descriptors for a moment.
// On an error nothing has changed.
func (c *Conn) Detach() (net.Conn, error) {
	w, d := c.watcher(), &c.desc
	if w == nil {
		return nil, ErrClosed // the zero Conn
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock() // so that nothing is submitted
	switch {
	case d.Gone != proactor.None:
		return nil, errOf(d.Gone)
	case d.Closed:
		return nil, ErrClosed
	case atomic.LoadInt32(&d.Queued) > 0:
		return nil, ErrPending
	}
	conn, err := w.backend.Detach(d)
	if err != nil {
		return nil, err
	}
	d.Closed = true
	w.forget(d, proactor.ConnClosed)
	w.wakeLocked() // an accept may wait for room
	return conn, nil
}
