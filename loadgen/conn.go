package loadgen

import (
	"bufio"
	"context"
	"io"
	"net"
)

const readBufferBytes = 16 << 10

// conn is a connection of the built-in HTTP/1.1 client. One goroutine reads. The lane says who
// writes and sets deadlines.
type conn struct {
	net.Conn
	br  *bufio.Reader
	got int64 // bytes read so far. The reader owns it
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.got += int64(n)
	return n, err
}

// dial connects to a host. The engine closes the connection when the run ends.
func (e *engine) dial(ctx context.Context, host int) (*conn, error) {
	nc, err := e.connected(ctx, host)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc}
	c.br = bufio.NewReaderSize(c, readBufferBytes)
	return c, e.track(c)
}

// track notes an open connection. After the run it closes it and fails.
func (e *engine) track(c io.Closer) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conns == nil {
		c.Close()
		return dialError{net.ErrClosed, ClassConnect}
	}
	e.conns[c] = struct{}{}
	e.connects.Add(1)
	return nil
}

func (e *engine) drop(c io.Closer) {
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
	for _, nc := range e.first {
		if nc != nil {
			nc.Close()
		}
	}
	e.conns, e.first = nil, nil
}
