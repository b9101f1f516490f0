package httpd

import (
	"bytes"
	"crypto/tls"
	"net"
)

// preface begins HTTP/2 (RFC 9113, 3.4).
var preface = []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

// prefaced reports whether a new connection may begin with HTTP/2's preface. The caller of it and
// of give holds mu.
func (c *conn) prefaced() bool {
	n := min(len(c.in), len(preface))
	return n > 0 && bytes.Equal(c.in[:n], preface[:n])
}

// give lets net/http serve the connection as HTTP/2, with its own goroutines.
func (c *conn) give(nc net.Conn) {
	s := c.server
	own := newWorker(s) // it never lets the connection go
	own.phase, own.fresh, own.pool.woken, own.request.got, own.conn = inRequest, false, false, peeked, c
	c.worker, c.served, c.until = own, true, 0
	c.reported = true // net/http reports from here on
	s.conns.others = append(s.conns.others, nc)
	s.work.needed.Signal()
}

// givenOf returns the connection that net/http has as nc, or nil.
func givenOf(nc net.Conn) *conn {
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	if wire, ok := nc.(wire); ok {
		return wire.conn
	}
	return nil
}

// secured is a worker for TLS connections. Its ConnectionState keeps net/http from looking for
// HTTP/2's preface. Each request gets its own connection's state.
type secured struct{ copying }

// copying is a worker without ReadFrom. net/http uses that only on TCP, and then sends more than
// the Content-Length. Unix sockets and TLS must not have it.
type copying struct{ closeWriter }

// closeWriter is what net/http uses of a connection except ReadFrom.
type closeWriter interface {
	net.Conn
	CloseWrite() error
}

// ConnectionState is for net/http.
func (secured) ConnectionState() (none tls.ConnectionState) { return none }

// workerOf returns the worker that net/http has as nc, or nil.
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
