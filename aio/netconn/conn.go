package netconn

import (
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

// Conn is a net.Conn over an aio.Conn. Any goroutine may call its methods, except the one that
// drives the Watcher, which would wait for itself.
type Conn struct {
	handle  *aio.Conn
	in, out side
	closed  atomic.Bool // by this Conn's Close
}

var _ net.Conn = (*Conn)(nil)

// New returns a Conn over a handle. Operations that the program submits itself take turns with the
// Conn's. Closing the handle closes the Conn.
func New(handle *aio.Conn) *Conn { return &Conn{handle: handle} }

// Handle returns the aio.Conn.
func (c *Conn) Handle() *aio.Conn { return c.handle }

// Read waits for bytes and reads up to len(p) of them. The peer's end is io.EOF.
func (c *Conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, c.usable("read")
	}
	n, err := c.in.do(c.handle.Read, p)
	return n, c.wrap("read", err)
}

// Write waits until the kernel has all of p. With an error it returns how much was sent.
func (c *Conn) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, c.usable("write")
	}
	n, err := c.out.do(c.handle.Write, p)
	return n, c.wrap("write", err)
}

// CloseWrite ends the sending side after a Write that is under way. No deadline applies.
func (c *Conn) CloseWrite() error {
	_, err := c.out.do(c.shut, nil)
	return c.wrap("close", err)
}

// Close closes the connection at once. Other calls that are under way, and a second Close, return
// net.ErrClosed.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return c.wrap("close", net.ErrClosed)
	}
	return c.handle.Close()
}

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	return c.set(t, &c.in, &c.out)
}

// SetReadDeadline makes Reads fail at t, including one that is under way. The zero time means no
// deadline.
func (c *Conn) SetReadDeadline(t time.Time) error {
	return c.set(t, &c.in)
}

// SetWriteDeadline is SetReadDeadline for writes. A Write that fails may have sent a part.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	return c.set(t, &c.out)
}

func (c *Conn) set(t time.Time, sides ...*side) error {
	if c.closed.Load() {
		return &net.OpError{Op: "set", Net: network(c.LocalAddr()), Addr: c.LocalAddr(), Err: net.ErrClosed}
	}
	for _, s := range sides {
		s.setDeadline(c.handle, t)
	}
	return nil
}

// LocalAddr returns the local address.
func (c *Conn) LocalAddr() net.Addr { return c.handle.LocalAddr() }

// RemoteAddr returns the peer's address.
func (c *Conn) RemoteAddr() net.Addr { return c.handle.RemoteAddr() }

func (c *Conn) shut(tag any, _ []byte, _ time.Time) error {
	return c.handle.CloseWrite(tag, aio.NoDeadline)
}

func (c *Conn) usable(op string) error {
	if c.closed.Load() {
		return c.wrap(op, net.ErrClosed)
	}
	return nil
}

// wrap turns an error of aio into one of package net.
func (c *Conn) wrap(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if errno, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError(op, errno)
	}
	if err == aio.ErrWatcherClosed { // its connections are closed too
		err = net.ErrClosed
	}
	return &net.OpError{Op: op, Net: network(c.LocalAddr()), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

func network(a net.Addr) string {
	if a == nil {
		return ""
	}
	return a.Network()
}
