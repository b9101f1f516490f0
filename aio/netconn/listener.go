package netconn

import (
	"net"
	"sync/atomic"
	"time"

	"evenkeel.dev/aio"
)

// listener is a net.Listener whose connections are Conns.
type listener struct {
	handle *aio.Listener
	in     side
	closed atomic.Bool
}

// NewListener returns a net.Listener whose Accept returns a *[Conn], for an http.Server or
// tls.NewListener. The loop accepts the connections. A lack of descriptors delays Accept and is not
// an error. Close closes the handle. After that, and after the Watcher's Close, methods return
// net.ErrClosed.
func NewListener(handle *aio.Listener) net.Listener { return &listener{handle: handle} }

func (l *listener) Accept() (net.Conn, error) {
	_, accepted, err := l.in.do(l.accept, nil)
	if err != nil {
		return nil, l.wrap("accept", err)
	}
	return New(accepted), nil
}

func (l *listener) accept(tag any, _ []byte, deadline time.Time) error {
	return l.handle.Accept(tag, deadline)
}

func (l *listener) Close() error {
	if l.closed.Swap(true) {
		return l.wrap("close", net.ErrClosed)
	}
	return l.handle.Close()
}

func (l *listener) Addr() net.Addr { return l.handle.Addr() }

func (l *listener) wrap(op string, err error) error {
	return &net.OpError{Op: op, Net: network(l.Addr()), Addr: l.Addr(), Err: plain(op, err)}
}
