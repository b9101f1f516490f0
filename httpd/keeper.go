package httpd

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"time"
)

// keeper is a connection in memory that net/http serves without a client. It is active for net/http
// from the listener's close to the last connection's end, so Shutdown waits. The server's mu guards
// it.
type keeper struct {
	server *server
	asked  bool // net/http has its request
	closed bool
}

// changed is net/http's ConnState. It keeps net/http from ending the request.
func (k *keeper) changed(to http.ConnState) {
	s := k.server
	s.mu.Lock()
	defer s.mu.Unlock()
	for to == http.StateActive && !k.closed && s.open > s.hijacked {
		s.ended.Wait()
	}
}

func (k *keeper) Read(p []byte) (int, error) {
	k.server.mu.Lock()
	defer k.server.mu.Unlock()
	if k.asked {
		return 0, io.EOF
	}
	k.asked = true
	return copy(p, "GET / HTTP/1.1\r\nHost: keeper\r\n\r\n"), nil
}

func (k *keeper) Write(p []byte) (int, error) { return len(p), nil }

func (k *keeper) Close() error {
	k.server.mu.Lock()
	defer k.server.mu.Unlock()
	k.closed = true
	k.server.ended.Broadcast()
	return nil
}

func (k *keeper) SetDeadline(time.Time) error      { return nil }
func (k *keeper) SetReadDeadline(time.Time) error  { return nil }
func (k *keeper) SetWriteDeadline(time.Time) error { return nil }
func (k *keeper) LocalAddr() net.Addr              { return k.server.real.Addr() }
func (k *keeper) RemoteAddr() net.Addr             { return nil }

// ConnectionState keeps net/http from looking for HTTP/2's preface.
func (k *keeper) ConnectionState() (none tls.ConnectionState) { return none }
