package netconn

import (
	"errors"
	"net"

	"evenkeel.dev/aio"
)

// listener is a net.Listener whose connections are Conns.
type listener struct {
	net.Listener
	watcher *aio.Watcher
}

// NewListener returns a listener that accepts from l and attaches each connection to w: Accept returns
// a *[Conn]. It is what an http.Server serves, or tls.NewListener takes. Its Close and Addr are l's.
//
// A connection that cannot be attached, for lack of descriptors mostly, is closed, and Accept says why;
// net.ErrClosed, when w is closed.
func NewListener(w *aio.Watcher, l net.Listener) net.Listener { return &listener{l, w} }

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	handle, err := l.watcher.Attach(conn)
	if err != nil {
		_ = conn.Close()
		if errors.Is(err, aio.ErrWatcherClosed) {
			err = net.ErrClosed
		}
		return nil, &net.OpError{Op: "accept", Net: network(l.Addr()), Addr: l.Addr(), Err: err}
	}
	return New(handle), nil
}
