package httpd

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// standIn is a connection in memory that net/http serves without a client. The guard is idle for
// net/http while connections are parked, and its Close ends these. The keeper is active for net/http
// from the listener's close to the last connection's end, so Shutdown waits. The server's mu guards
// both.
type standIn struct {
	server *server
	moves  sync.Cond
	asked  bool      // net/http has its request
	until  time.Time // of Read
	closed bool
}

func newStandIn(s *server) *standIn {
	i := &standIn{server: s}
	i.moves.L = &s.mu
	return i
}

// askGuard makes net/http accept the guard.
func (s *server) askGuard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.guarded.Swap(true) {
		s.needed.Signal()
	}
}

// changed is net/http's ConnState. It keeps net/http from ending the keeper's request.
func (i *standIn) changed(to http.ConnState) {
	s := i.server
	s.mu.Lock()
	defer s.mu.Unlock()
	for to == http.StateActive && i == s.keeper && !i.closed && s.open > s.hijacked {
		s.ended.Wait()
	}
}

func (i *standIn) Read(p []byte) (int, error) {
	s := i.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if !i.asked {
		i.asked = true
		return copy(p, "GET / HTTP/1.1\r\nHost: guard\r\n\r\n"), nil
	}
	for !i.closed && !s.closed.Load() {
		if i.until.Equal(aborts) {
			return 0, os.ErrDeadlineExceeded
		}
		i.moves.Wait()
	}
	return 0, io.EOF
}

func (i *standIn) Write(p []byte) (int, error) { return len(p), nil }

func (i *standIn) Close() error {
	s := i.server
	s.mu.Lock()
	if i.closed {
		s.mu.Unlock()
		return net.ErrClosed
	}
	i.closed = true
	i.moves.Broadcast()
	s.ended.Broadcast()
	guard := i == s.guard
	if guard {
		s.guard = nil
		s.guarded.Store(false)
	}
	s.mu.Unlock()
	if guard {
		s.endIdle()
	}
	return nil
}

func (i *standIn) SetReadDeadline(t time.Time) error {
	i.server.mu.Lock()
	defer i.server.mu.Unlock()
	i.until = t
	i.moves.Broadcast()
	return nil
}

func (i *standIn) SetDeadline(t time.Time) error    { return i.SetReadDeadline(t) }
func (i *standIn) SetWriteDeadline(time.Time) error { return nil }
func (i *standIn) LocalAddr() net.Addr              { return i.server.real.Addr() }
func (i *standIn) RemoteAddr() net.Addr             { return nil }

// ConnectionState keeps net/http from looking for HTTP/2's preface.
func (i *standIn) ConnectionState() (none tls.ConnectionState) { return none }
