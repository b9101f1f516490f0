package aiosuite

import (
	"net"
	"sync"
	"syscall"

	"evenkeel.dev/aio/internal/proactor"
)

// fakeBacklog bounds the connections that wait to be accepted.
const fakeBacklog = 1024

type Listener struct {
	buffer int
	queue  chan *Conn    // not accepted
	down   chan struct{} // closed by Close

	mu      sync.Mutex
	refs    int      // descriptors. 0: closed
	closed  bool     // the Listener's own descriptor
	backend *Backend // that has a duplicate
}

var _ net.Listener = (*Listener)(nil)

// NewListener returns a Listener. Its connections are like those of [Pair].
func NewListener(buffer int) *Listener {
	return &Listener{buffer: buffer, queue: make(chan *Conn, fakeBacklog), down: make(chan struct{}), refs: 1}
}

// change calls f, and has the backend look again.
func (l *Listener) change(f func()) {
	l.mu.Lock()
	f()
	b := l.backend
	l.mu.Unlock()
	if b != nil {
		b.look()
	}
}

// Dial makes a connection and returns the peer's end.
func (l *Listener) Dial() (peer net.Conn, err error) {
	a, b := Pair(l.buffer)
	l.change(func() {
		if l.refs == 0 || len(l.queue) == fakeBacklog {
			err = &net.OpError{Op: "dial", Net: "aiotest", Err: syscall.ECONNREFUSED}
			return
		}
		l.queue <- a // only Dial sends
		peer = b
	})
	return peer, err
}

func (l *Listener) take() *Conn {
	select {
	case c := <-l.queue:
		return c
	default:
		return nil
	}
}

func (l *Listener) ready() bool { return len(l.queue) > 0 }

func (l *Listener) Accept() (net.Conn, error) {
	select {
	case <-l.down:
	default:
		select {
		case c := <-l.queue:
			return c, nil
		case <-l.down:
		}
	}
	return nil, &net.OpError{Op: "accept", Net: "aiotest", Err: net.ErrClosed}
}

func (l *Listener) Addr() net.Addr { return listenerAddr{address("listener"), l} }

type listenerAddr struct {
	address
	l *Listener
}

func (l *Listener) Close() (err error) {
	l.change(func() {
		if l.closed {
			err = &net.OpError{Op: "close", Net: "aiotest", Err: net.ErrClosed}
			return
		}
		l.closed = true
		close(l.down)
	})
	if err == nil {
		l.release(nil)
	}
	return err
}

func (l *Listener) dup(b *Backend) (err error) {
	l.change(func() {
		if l.closed {
			err = net.ErrClosed
			return
		}
		l.refs++
		l.backend = b
	})
	return err
}

// release closes a descriptor. The last one resets the connections that wait.
func (l *Listener) release(b *Backend) {
	l.change(func() {
		if b == l.backend {
			l.backend = nil
		}
		if l.refs--; l.refs > 0 {
			return
		}
		for c := l.take(); c != nil; c = l.take() {
			_ = c.Reset()
		}
	})
}

func (b *Backend) Accept(listener, d *proactor.Desc) (remote proactor.Addr, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.fd(listener, "Accept")
	switch {
	case f == nil || f.listener == nil:
		return remote, syscall.EINVAL
	case b.dice.hit(b.o.Faults.Spurious):
		return remote, syscall.EAGAIN
	case b.dice.hit(b.o.Faults.NoDescriptors):
		return remote, syscall.EMFILE
	}
	c := f.listener.take()
	if c == nil {
		return remote, syscall.EAGAIN
	}
	b.enter(&fd{socket: c.socket}, d)
	return proactor.Addr{Other: c.remote}, nil
}

func (b *Backend) Connect(addr net.Addr, d *proactor.Desc) error {
	a, ok := addr.(listenerAddr)
	if !ok {
		return proactor.ErrUnresolved
	}
	peer, err := a.l.Dial()
	if err != nil {
		return syscall.ECONNREFUSED
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.enter(&fd{socket: peer.(*Conn).socket}, d)
	return nil
}

func (b *Backend) Local(*proactor.Desc) proactor.Addr { return proactor.Addr{Other: address("a")} }
