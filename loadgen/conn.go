package loadgen

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
)

const readBufferBytes = 16 << 10

// conn is one connection of the built-in client. One goroutine reads; writing and deadlines
// follow the lane's rules.
type conn struct {
	net.Conn
	br  *bufio.Reader
	got int64 // bytes read so far; owned by the reader
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.got += int64(n)
	return n, err
}

// dial connects to a host. The engine closes the connection when the run is stopped.
func (e *engine) dial(ctx context.Context, h host) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, e.o.Timeout)
	defer cancel()
	nc, err := e.dialer.DialContext(ctx, "tcp", h.addr)
	if err != nil {
		return nil, dialError{err, ClassConnect}
	}
	if h.tls != "" {
		cfg := e.o.TLS.Clone()
		if cfg == nil {
			cfg = &tls.Config{}
		}
		if cfg.ServerName == "" {
			cfg.ServerName = h.tls
		}
		cfg.NextProtos = []string{"http/1.1"}
		tc := tls.Client(nc, cfg)
		if err := tc.HandshakeContext(ctx); err != nil {
			nc.Close()
			return nil, dialError{err, ClassTLS}
		}
		nc = tc
	}
	c := &conn{Conn: nc}
	c.br = bufio.NewReaderSize(c, readBufferBytes)
	if !e.track(c) {
		return nil, dialError{net.ErrClosed, ClassConnect}
	}
	e.connects.Add(1)
	return c, nil
}

// track remembers an open connection; false (and closed) when the run is over.
func (e *engine) track(c *conn) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conns == nil {
		c.Close()
		return false
	}
	e.conns[c] = struct{}{}
	return true
}

func (e *engine) drop(c *conn) {
	c.Close()
	e.mu.Lock()
	delete(e.conns, c)
	e.mu.Unlock()
}

// closeConns closes every connection and refuses new ones.
func (e *engine) closeConns() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.conns {
		c.Close()
	}
	e.conns = nil
}
