package aiosuite

import (
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// Conn is one end of a connection in memory. Until it is attached it is an ordinary net.Conn.
type Conn struct {
	socket        *Socket
	local, remote address
	closed        atomic.Bool
	readBy        atomic.Int64 // deadlines in nanoseconds since 1970; 0: none
	writeBy       atomic.Int64
}

var _ net.Conn = (*Conn)(nil)

type address string

func (a address) Network() string { return "aiotest" }
func (a address) String() string  { return string(a) }

// Pair returns the two ends of a new connection. Each holds at most buffer bytes unread.
func Pair(buffer int) (a, b *Conn) {
	x, y := newLink(max(buffer, 1))
	return &Conn{socket: x, local: "a", remote: "b"}, &Conn{socket: y, local: "b", remote: "a"}
}

// dup returns the socket with one more descriptor.
func (c *Conn) dup() (*Socket, error) {
	if c.closed.Load() {
		return nil, net.ErrClosed
	}
	c.socket.dup()
	return c.socket, nil
}

// Read implements net.Conn.
func (c *Conn) Read(buf []byte) (int, error) {
	if len(buf) == 0 {
		return 0, nil
	}
	n, err := c.wait("read", &c.readBy, func() (int, syscall.Errno) { return c.socket.Recv(buf) })
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Write implements net.Conn.
func (c *Conn) Write(buf []byte) (sent int, err error) {
	for err == nil && sent < len(buf) {
		var n int
		n, err = c.wait("write", &c.writeBy, func() (int, syscall.Errno) { return c.socket.Send(buf[sent:]) })
		sent += n
	}
	return sent, err
}

// wait repeats a call until it does not return EAGAIN.
func (c *Conn) wait(op string, by *atomic.Int64, call func() (int, syscall.Errno)) (int, error) {
	for {
		l := c.socket.link
		l.mu.Lock()
		changed := l.changed // before the call, which misses no change then
		l.mu.Unlock()
		if c.closed.Load() {
			return 0, &net.OpError{Op: op, Net: "aiotest", Err: net.ErrClosed}
		}
		var late <-chan time.Time
		var timer *time.Timer
		if at := by.Load(); at != 0 {
			left := time.Until(time.Unix(0, at))
			if left <= 0 {
				return 0, &net.OpError{Op: op, Net: "aiotest", Err: os.ErrDeadlineExceeded}
			}
			timer = time.NewTimer(left)
			late = timer.C
		}
		n, errno := call()
		if errno == syscall.EAGAIN {
			select {
			case <-changed:
			case <-late:
			}
		}
		if timer != nil {
			timer.Stop()
		}
		switch errno {
		case 0:
			return n, nil
		case syscall.EAGAIN:
		default:
			return 0, &net.OpError{Op: op, Net: "aiotest", Err: os.NewSyscallError(op, errno)}
		}
	}
}

// Close implements net.Conn. With data unread the peer finds a reset.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return &net.OpError{Op: "close", Net: "aiotest", Err: net.ErrClosed}
	}
	c.socket.Close()
	c.socket.change(func() bool { return true }) // wakes calls of this end
	return nil
}

// CloseWrite ends what this end sends.
func (c *Conn) CloseWrite() error {
	if c.closed.Load() {
		return &net.OpError{Op: "close", Net: "aiotest", Err: net.ErrClosed}
	}
	c.socket.closeWrite()
	return nil
}

// Reset closes this end. The peer finds ECONNRESET.
func (c *Conn) Reset() error {
	if c.closed.Swap(true) {
		return &net.OpError{Op: "close", Net: "aiotest", Err: net.ErrClosed}
	}
	c.socket.change(c.socket.abort)
	c.socket.Close()
	return nil
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadline(&c.readBy, t) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(&c.writeBy, t) }

func (c *Conn) setDeadline(by *atomic.Int64, t time.Time) error {
	if c.closed.Load() {
		return &net.OpError{Op: "set", Net: "aiotest", Err: net.ErrClosed}
	}
	c.socket.change(func() bool {
		if t.IsZero() {
			by.Store(0)
		} else {
			by.Store(t.UnixNano() | 1) // never 0
		}
		return true
	})
	return nil
}
