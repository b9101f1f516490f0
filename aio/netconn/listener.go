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

// NewListener returns a listener over one of [aio.Watcher.Listen] or [aio.Watcher.AttachListener], whose
// connections are accepted in the loop: Accept waits for one and returns a *[Conn]. It is what an http.Server
// serves, or tls.NewListener takes. A lack of descriptors delays Accept, and is no error of it.
//
// Its Close closes the handle, and a second one returns net.ErrClosed, as Accept does once the Listener or
// its Watcher is closed.
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
