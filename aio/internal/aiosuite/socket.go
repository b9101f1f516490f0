package aiosuite

import (
	"sync"
	"syscall"

	"evenkeel.dev/aio/internal/proactor"
)

// Socket is one end of a connection in the kernel. It does not block. Any goroutine may call its
// methods.
//
// It behaves as TCP does on Linux. Data that arrived before a reset can be read. One call returns
// the reset, later reads find the end, and later writes EPIPE. A close with unread data is a reset.
type Socket struct {
	link *link
	peer *Socket

	// Guarded by link.mu.
	in         []byte // not received
	fin        bool   // nothing follows in
	sendClosed bool
	reset      bool
	err        syscall.Errno // for one call
	refs       int           // descriptors; 0: closed
	notify     func()
}

// link is what both ends share.
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

// change calls f. If f returns true, both ends try again what was not possible.
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
	if len(s.in) > 0 || s.fin || s.reset || s.err != 0 {
		r |= proactor.CanRead
	}
	if len(s.peer.in) < s.link.buffer || s.sendClosed || s.reset || s.err != 0 || s.peer.refs == 0 {
		r |= proactor.CanWrite
	}
	if s.fin || s.reset || s.err != 0 {
		r |= proactor.Hup
	}
	return r
}

// Recv is recv(2).
func (s *Socket) Recv(buf []byte) (n int, errno syscall.Errno) {
	s.change(func() bool {
		switch {
		case s.refs == 0:
			errno = syscall.EBADF
		case len(s.in) > 0:
			n = copy(buf, s.in)
			s.in = s.in[n:]
		case s.err != 0:
			errno, s.err = s.err, 0
		case !s.fin && !s.reset:
			errno = syscall.EAGAIN
		}
		return errno != syscall.EAGAIN
	})
	return n, errno
}

// Send is send(2).
func (s *Socket) Send(buf []byte) (n int, errno syscall.Errno) {
	s.change(func() bool {
		switch {
		case s.refs == 0:
			errno = syscall.EBADF
		case s.err != 0:
			errno, s.err = s.err, 0
		case s.sendClosed || s.reset:
			errno = syscall.EPIPE
		case s.peer.refs == 0: // sent before the refusal arrives
			n = len(buf)
			s.reset, s.err = true, syscall.EPIPE
		case len(s.peer.in) >= s.link.buffer:
			errno = syscall.EAGAIN
		default:
			n = min(len(buf), s.link.buffer-len(s.peer.in))
			s.peer.in = append(s.peer.in, buf[:n]...)
		}
		return errno != syscall.EAGAIN
	})
	return n, errno
}

// dup adds a descriptor, which Close closes.
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

// closeWrite is shutdown(2) of the sending side.
func (s *Socket) closeWrite() (errno syscall.Errno) {
	s.change(func() bool {
		if s.reset {
			errno = syscall.ENOTCONN
			return false
		}
		s.sendClosed, s.peer.fin = true, true
		return true
	})
	return errno
}

// abort resets the peer. The caller holds the lock.
func (s *Socket) abort() bool {
	p := s.peer
	if p.reset || p.refs == 0 {
		return false
	}
	p.reset, p.err = true, syscall.ECONNRESET
	return true
}
