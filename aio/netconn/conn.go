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

// Conn is a net.Conn over a handle of aio. Its methods may be called by any goroutine, but for the one
// that drives the Watcher, which would wait for itself.
type Conn struct {
	handle  *aio.Conn
	in, out side
	closed  atomic.Bool // by Close of this Conn
}

var _ net.Conn = (*Conn)(nil)

// New returns a Conn over a handle, whose reads and writes are the Conn's from then on: what the
// program submits itself takes its turn between them. Closing the handle closes the Conn.
func New(handle *aio.Conn) *Conn { return &Conn{handle: handle} }

// Handle returns what the Conn is over.
func (c *Conn) Handle() *aio.Conn { return c.handle }

// Read reads what has come, up to len(p) bytes, and waits for it. The peer's end is io.EOF.
func (c *Conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, c.usable("read")
	}
	n, _, err := c.in.do(c.read, p)
	return n, c.wrap("read", err)
}

// Write writes all of p, and waits until the kernel has it. With an error it returns how much of p was
// sent before.
func (c *Conn) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, c.usable("write")
	}
	n, _, err := c.out.do(c.write, p)
	return n, c.wrap("write", err)
}

// CloseWrite ends this side's sending, when a Write that is under way has ended: the peer finds io.EOF,
// and what it sends can still be read. No deadline applies.
func (c *Conn) CloseWrite() error {
	_, _, err := c.out.do(c.shut, nil)
	return c.wrap("close", err)
}

// Close closes the connection at once, as aio.Conn.Close does. A Read and a Write that are under way
// return net.ErrClosed, and so does a second Close.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return c.wrap("close", net.ErrClosed)
	}
	return c.handle.Close()
}

// SetDeadline is SetReadDeadline and SetWriteDeadline.
func (c *Conn) SetDeadline(t time.Time) error {
	return c.set(t, &c.in, &c.out)
}

// SetReadDeadline has the Read that is under way, and those that follow, fail at t, a time in the past
// at once. The zero time is no deadline. Such an error is no end: a later deadline lets Reads go on.
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

// LocalAddr returns the address on this side.
func (c *Conn) LocalAddr() net.Addr { return c.handle.LocalAddr() }

// RemoteAddr returns the peer's address.
func (c *Conn) RemoteAddr() net.Addr { return c.handle.RemoteAddr() }

func (c *Conn) read(tag any, p []byte, deadline time.Time) error {
	if late(deadline) {
		return os.ErrDeadlineExceeded // aio would try it
	}
	return c.handle.Read(tag, p, deadline)
}

func (c *Conn) write(tag any, p []byte, deadline time.Time) error {
	if late(deadline) {
		return os.ErrDeadlineExceeded
	}
	return c.handle.Write(tag, p, deadline)
}

func (c *Conn) shut(tag any, _ []byte, _ time.Time) error {
	return c.handle.CloseWrite(tag, aio.NoDeadline)
}

// usable returns an error when the Conn was closed.
func (c *Conn) usable(op string) error {
	if c.closed.Load() {
		return c.wrap(op, net.ErrClosed)
	}
	return nil
}

func late(t time.Time) bool { return !t.IsZero() && time.Until(t) <= 0 }

// wrap returns what package net says for an error of aio.
func (c *Conn) wrap(op string, err error) error {
	if err = plain(op, err); err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: network(c.LocalAddr()), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// plain returns an error of aio in package net's terms.
func plain(op string, err error) error {
	if errno, ok := err.(syscall.Errno); ok {
		return os.NewSyscallError(op, errno)
	}
	if err == aio.ErrWatcherClosed { // and its connections with it
		return net.ErrClosed
	}
	return err
}

// network returns the network of an address, which may be missing.
func network(a net.Addr) string {
	if a == nil {
		return ""
	}
	return a.Network()
}
