package aiosuite

import (
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"evenkeel.dev/aio/internal/proactor"
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

func (c *Conn) dup() (*Socket, error) {
	if c.closed.Load() {
		return nil, net.ErrClosed
	}
	c.socket.dup()
	return c.socket, nil
}

func (c *Conn) Read(buf []byte) (int, error) {
	if len(buf) == 0 {
		return 0, nil
	}
	return c.wait("read", &c.readBy, func() (int, error) { return c.socket.Recv(buf) })
}

func (c *Conn) Write(buf []byte) (sent int, err error) {
	for err == nil && sent < len(buf) {
		var n int
		n, err = c.wait("write", &c.writeBy, func() (int, error) { return c.socket.Send(buf[sent:]) })
		sent += n
	}
	return sent, err
}

// wait repeats a call until it does not return EAGAIN.
func (c *Conn) wait(op string, by *atomic.Int64, call func() (int, error)) (int, error) {
	for {
		l := c.socket.link
		l.mu.Lock()
		changed := l.changed // before the call, which misses no change then
		l.mu.Unlock()
		if c.closed.Load() {
			return 0, &net.OpError{Op: op, Net: "aiotest", Err: net.ErrClosed}
		}
		var late <-chan time.Time
		if at := by.Load(); at != 0 {
			left := time.Until(time.Unix(0, at))
			if left <= 0 {
				return 0, &net.OpError{Op: op, Net: "aiotest", Err: os.ErrDeadlineExceeded}
			}
			late = time.After(left)
		}
		switch n, err := call(); err {
		case nil, io.EOF:
			return n, err
		case syscall.EAGAIN:
			select {
			case <-changed:
			case <-late:
			}
		default:
			return 0, &net.OpError{Op: op, Net: "aiotest", Err: os.NewSyscallError(op, err)}
		}
	}
}

// With data unread the peer finds a reset.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return &net.OpError{Op: "close", Net: "aiotest", Err: net.ErrClosed}
	}
	c.socket.Close()
	c.socket.change(func() bool { return true }) // wakes calls of this end
	return nil
}

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

func (c *Conn) LocalAddr() net.Addr { return c.local }

func (c *Conn) RemoteAddr() net.Addr { return c.remote }

func (c *Conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadline(&c.readBy, t) }

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

// Socket is one end of a connection in the kernel. It does not block. It behaves as TCP does on
// Linux: data that arrived before a reset can be read, one call returns the reset, later reads find
// the end, and later writes EPIPE. A close with unread data is a reset.
type Socket struct {
	link *link
	peer *Socket

	// Guarded by link.mu.
	in         []byte // not received
	fin        bool   // nothing follows in
	sendClosed bool
	reset      bool
	err        error // for one call
	refs       int   // descriptors. 0: closed
	notify     func()
}

type link struct {
	buffer int // bytes that an end holds unread, at most

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change
}

func newLink(buffer int) (a, b *Socket) {
	l := &link{buffer: buffer, changed: make(chan struct{})}
	a, b = &Socket{link: l, refs: 1}, &Socket{link: l, refs: 1}
	a.peer, b.peer = b, a
	return a, b
}

// change calls f. If f returns true, both ends try again.
func (s *Socket) change(f func() bool) {
	s.link.mu.Lock()
	if !f() {
		s.link.mu.Unlock()
		return
	}
	close(s.link.changed)
	s.link.changed = make(chan struct{})
	mine, theirs := s.notify, s.peer.notify
	s.link.mu.Unlock()
	for _, notify := range []func(){mine, theirs} {
		if notify != nil {
			notify()
		}
	}
}

// Watch sets f, which each change calls. f must not block. It may be nil.
func (s *Socket) Watch(f func()) {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	s.notify = f
}

// Ready returns what would not fail with EAGAIN, and whether the peer has ended.
func (s *Socket) Ready() (r proactor.Ready) {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	if len(s.in) > 0 || s.fin || s.reset || s.err != nil {
		r |= proactor.CanRead
	}
	if len(s.peer.in) < s.link.buffer || s.sendClosed || s.reset || s.err != nil || s.peer.refs == 0 {
		r |= proactor.CanWrite
	}
	if s.fin || s.reset || s.err != nil {
		r |= proactor.Hup
	}
	return r
}

// Recv returns io.EOF at the end.
func (s *Socket) Recv(buf []byte) (n int, err error) {
	s.change(func() bool {
		switch {
		case s.refs == 0:
			err = syscall.EBADF
		case len(s.in) > 0:
			n = copy(buf, s.in)
			s.in = s.in[n:]
		case s.err != nil:
			err, s.err = s.err, nil
		case s.fin || s.reset:
			err = io.EOF
		default:
			err = syscall.EAGAIN
		}
		return err != syscall.EAGAIN
	})
	return n, err
}

func (s *Socket) Send(buf []byte) (n int, err error) {
	s.change(func() bool {
		switch {
		case s.refs == 0:
			err = syscall.EBADF
		case s.err != nil:
			err, s.err = s.err, nil
		case s.sendClosed || s.reset:
			err = syscall.EPIPE
		case s.peer.refs == 0: // sent before the refusal arrives
			n = len(buf)
			s.reset, s.err = true, syscall.EPIPE
		case len(s.peer.in) >= s.link.buffer:
			err = syscall.EAGAIN
		default:
			n = min(len(buf), s.link.buffer-len(s.peer.in))
			s.peer.in = append(s.peer.in, buf[:n]...)
		}
		return err != syscall.EAGAIN
	})
	return n, err
}

func (s *Socket) dup() {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	s.refs++
}

// Close closes one descriptor, and with the last one the connection.
func (s *Socket) Close() {
	s.change(func() bool {
		if s.refs--; s.refs > 0 {
			return false
		}
		if len(s.in) > 0 {
			s.abort()
		}
		s.in, s.peer.fin = nil, true
		return true
	})
}

func (s *Socket) closeWrite() (err error) {
	s.change(func() bool {
		if s.reset {
			err = syscall.ENOTCONN
			return false
		}
		s.sendClosed, s.peer.fin = true, true
		return true
	})
	return err
}

func (s *Socket) abort() bool {
	p := s.peer
	if p.reset || p.refs == 0 {
		return false
	}
	p.reset, p.err = true, syscall.ECONNRESET
	return true
}
