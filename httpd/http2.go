package httpd

import (
	"bytes"
	"crypto/tls"
	"net"
)

// preface begins HTTP/2 (RFC 9113, 3.4).
var preface = []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

// prefaced reports whether what has come of a new connection may be the beginning of HTTP/2. mu is held, as for give.
func (c *conn) prefaced() bool {
	n := min(len(c.in), len(preface))
	return n > 0 && bytes.Equal(c.in[:n], preface[:n])
}

// give has net/http serve the connection as nc, with goroutines of its own, as long as it lasts: HTTP/2.
func (c *conn) give(nc net.Conn) {
	s := c.server
	own := newWorker(s) // that no net/http serves, and which never lets the connection go
	own.phase, own.fresh, own.pool.woken, own.request.got, own.conn = inRequest, false, false, peeked, c
	c.worker, c.served, c.until = own, true, 0
	c.reported = true // net/http tells of it from here on
	s.conns.others = append(s.conns.others, nc)
	s.work.needed.Signal()
}

// givenOf returns the connection that was given to net/http as nc, or nil.
func givenOf(nc net.Conn) *conn {
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	if wire, ok := nc.(wire); ok {
		return wire.conn
	}
	return nil
}

// secured is a worker of connections of TLS. That it tells a state keeps net/http from looking for HTTP/2 in what
// they say, which TLS agrees on; each request gets its own connection's state.
type secured struct{ copying }

// copying is a worker without its ReadFrom, by which net/http would send all that is read, also
// what is more than the Content-Length of an answer: as it does on TCP, and nowhere else. So it is
// that of unix sockets, too.
type copying struct{ closeWriter }

// closeWriter is what net/http uses of a connection beside ReadFrom.
type closeWriter interface {
	net.Conn
	CloseWrite() error
}

// ConnectionState is asked for by net/http.
func (secured) ConnectionState() (none tls.ConnectionState) { return none }

// workerOf returns the worker that net/http serves as nc, or nil.
func workerOf(nc net.Conn) *worker {
	switch nc := nc.(type) {
	case *worker:
		return nc
	case secured:
		return workerOf(nc.copying)
	case copying:
		return workerOf(nc.closeWriter)
	}
	return nil
}
