package aio

import (
	"net"
	"sync/atomic"

	"evenkeel.dev/aio/internal/proactor"
)

// Detach gives the connection back as a *net.TCPConn or a *net.UnixConn, of which nothing was read that
// WaitIO has not returned. Its options are as they were. The Conn is closed from then on, and the net.Conn the
// caller's, who closes it. Over a backend of package aio/aiotest it is one of that package.
//
// It does not wait, and fails with ErrPending while operations of the connection were not returned
// by WaitIO: end reads by Cancel, and call it when their results have come. Other errors are
// ErrClosed, ErrWatcherClosed, and a syscall.Errno such as EMFILE (it takes two descriptors more,
// for a moment). Then nothing has changed.
func (c *Conn) Detach() (net.Conn, error) {
	w, d := c.watcher(), &c.desc
	if w == nil {
		return nil, ErrClosed // no Watcher has made it
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock() // nothing is submitted meanwhile
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
