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

	mu      sync.Mutex
	changed chan struct{}       // closed and replaced at each change
	queue   []*Conn             // not accepted
	refs    int                 // descriptors. 0: closed
	closed  bool                // the Listener's own descriptor
	notify  map[*Backend]func() // after a change
}

var _ net.Listener = (*Listener)(nil)

// NewListener returns a Listener. Its connections are like those of [Pair].
func NewListener(buffer int) *Listener {
	return &Listener{buffer: buffer, changed: make(chan struct{}), refs: 1, notify: map[*Backend]func(){}}
}

func (l *Listener) change(f func()) {
	l.mu.Lock()
	f()
	close(l.changed)
	l.changed = make(chan struct{})
	var tell []func()
	for _, notify := range l.notify {
		tell = append(tell, notify)
	}
	l.mu.Unlock()
	for _, notify := range tell {
		notify()
	}
}

// Dial makes a connection and returns the peer's end.
func (l *Listener) Dial() (peer net.Conn, err error) {
	l.change(func() {
		if l.refs == 0 || len(l.queue) == fakeBacklog {
			err = &net.OpError{Op: "dial", Net: "aiotest", Err: syscall.ECONNREFUSED}
			return
		}
		a, b := Pair(l.buffer)
		l.queue, peer = append(l.queue, a), b
	})
	return peer, err
}

func (l *Listener) take() *Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return nil
	}
	c := l.queue[0]
	l.queue = l.queue[1:]
	return c
}

func (l *Listener) ready() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) > 0
}

func (l *Listener) Accept() (net.Conn, error) {
	for {
		l.mu.Lock()
		closed, changed := l.closed, l.changed
		l.mu.Unlock()
		if closed {
			return nil, &net.OpError{Op: "accept", Net: "aiotest", Err: net.ErrClosed}
		}
		if c := l.take(); c != nil {
			return c, nil
		}
		<-changed
	}
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
		l.notify[b] = b.look
	})
	return err
}

// release closes a descriptor. The last one resets the connections that wait.
func (l *Listener) release(b *Backend) {
	var lost []*Conn
	l.change(func() {
		delete(l.notify, b)
		if l.refs--; l.refs == 0 {
			lost, l.queue = l.queue, nil
		}
	})
	for _, c := range lost {
		_ = c.Reset()
	}
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
