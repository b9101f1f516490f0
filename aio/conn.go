package aio

import (
	"net"
	"net/netip"
	"reflect"
	"runtime"
	"time"
	"weak"

	"evenkeel.dev/internal/proactor"
)

// Conn is a delegated connection, by itself: see [Watcher.Attach]. It implements net.Conn so that
// it can stand where one is expected; its own Read, Write and deadlines return ErrUnsupported for
// now.
type Conn struct {
	loop   *loop
	desc   *proactor.Desc
	local  net.Addr // shared with the connections before, mostly
	remote net.Addr // nil when it is peer4
	peer4  [4]byte  // of TCP over IPv4, which takes less room so
	port4  uint16
}

var _ net.Conn = (*Conn)(nil)

// Read returns ErrUnsupported: use [Watcher.Read].
func (c *Conn) Read([]byte) (int, error) { return 0, ErrUnsupported }

// Write returns ErrUnsupported: use [Watcher.Write].
func (c *Conn) Write([]byte) (int, error) { return 0, ErrUnsupported }

// Close is [Watcher.Free].
func (c *Conn) Close() error {
	if c.loop == nil {
		return ErrUnsupported // no Attach has made it
	}
	return c.loop.freeConn(c)
}

// LocalAddr returns the address on this side.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the peer's address.
func (c *Conn) RemoteAddr() net.Addr {
	if c.remote == nil && c.port4 != 0 {
		return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom4(c.peer4), c.port4))
	}
	return c.remote
}

// SetDeadline returns ErrUnsupported: deadlines are an operation's.
func (c *Conn) SetDeadline(time.Time) error { return ErrUnsupported }

// SetReadDeadline returns ErrUnsupported: see [Watcher.ReadTimeout].
func (c *Conn) SetReadDeadline(time.Time) error { return ErrUnsupported }

// SetWriteDeadline returns ErrUnsupported: see [Watcher.WriteTimeout].
func (c *Conn) SetWriteDeadline(time.Time) error { return ErrUnsupported }

// identity returns where conn is. A connection that is not a pointer has no identity: a copy
// would be another one.
func identity(conn net.Conn) (*byte, error) {
	v := reflect.ValueOf(conn)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil, ErrUnsupported
	}
	return (*byte)(v.UnsafePointer()), nil
}

// find returns the descriptor of conn, or nil when it has none here. The caller holds subMu.
//
// The table has addresses as keys, and does not keep connections alive. So an address may have
// become another's before the clean-up of the first ran; the weak pointer tells.
func (l *loop) find(at *byte) *proactor.Desc {
	if d := l.conns[addr(at)]; d != nil && d.Ident.Value() == at {
		return d
	}
	return nil
}

func addr(at *byte) uintptr { return reflect.ValueOf(at).Pointer() }

// delegate takes over the descriptor of conn, which stands for itself from now on.
func (l *loop) delegate(conn net.Conn, ident *byte) (*proactor.Desc, error) {
	d, err := l.enter(conn, ident)
	if err == nil {
		_ = conn.Close() // the backend has a duplicate. It may be the user's code: no lock is held
	}
	return d, err
}

// enter is delegate, but for closing conn.
func (l *loop) enter(conn net.Conn, ident *byte) (*proactor.Desc, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := addr(ident)
	l.subMu.Lock()
	known, before := l.find(ident), l.conns[key]
	l.subMu.Unlock()
	if known != nil {
		return known, nil // another goroutine was faster
	}
	if before != nil {
		l.gcFound++ // a connection that was collected; forget has not come yet
		l.release(before, proactor.Freed)
		l.gcClosed++
	}
	d, err := l.open(conn)
	if err != nil {
		return nil, err
	}
	d.Key = key
	d.Ident = weak.Make(ident)
	runtime.AddCleanup(ident, l.forgotten, d)
	l.subMu.Lock()
	l.conns[key] = d
	l.subMu.Unlock()
	return d, nil
}

// open has the backend take over conn's descriptor. The caller holds mu.
func (l *loop) open(conn net.Conn) (*proactor.Desc, error) {
	l.subMu.Lock()
	closed := l.closed
	l.subMu.Unlock()
	if closed {
		return nil, ErrWatcherClosed
	}
	d := &proactor.Desc{}
	if err := l.backend.Open(conn, d); err != nil {
		return nil, bare(err)
	}
	l.live++
	return d, nil
}

// attach is Attach.
func (l *loop) attach(conn net.Conn) (*Conn, error) {
	if _, err := identity(conn); err != nil {
		return nil, err
	}
	if _, ok := conn.(*Conn); ok {
		return nil, ErrUnsupported
	}
	c := &Conn{loop: l, local: conn.LocalAddr(), remote: conn.RemoteAddr()}
	if a, ok := c.remote.(*net.TCPAddr); ok && a.IP.To4() != nil && a.Port != 0 {
		c.peer4, c.port4, c.remote = [4]byte(a.IP.To4()), uint16(a.Port), nil
	}
	if err := l.enterHandle(conn, c); err != nil {
		return nil, err
	}
	_ = conn.Close()
	return c, nil
}

// enterHandle is attach, but for closing conn.
func (l *loop) enterHandle(conn net.Conn, c *Conn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	d, err := l.open(conn)
	if err != nil {
		return err
	}
	if l.local != nil && c.local != nil && l.local.Network() == c.local.Network() && l.local.String() == c.local.String() {
		c.local = l.local
	}
	l.local = c.local
	d.Key = uintptr(len(l.handles))
	l.handles = append(l.handles, d)
	c.desc = d
	runtime.AddCleanup(c, l.forgotten, d)
	return nil
}

// forget is the collector's clean-up: nobody can use the connection of d any more, and no
// operation is pending, which would keep it alive. Most often it was freed before.
func (l *loop) forget(d *proactor.Desc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.Gone != proactor.None {
		return
	}
	l.gcFound++
	l.release(d, proactor.Freed)
	l.gcClosed++
	l.rouse()
}

// freeConn is Free.
func (l *loop) freeConn(conn net.Conn) error {
	at, err := identity(conn)
	if err != nil {
		return err
	}
	known, err := l.freeKnown(conn, at)
	if err == nil && !known {
		_ = conn.Close() // never delegated, or freed before. No lock is held
	}
	return err
}

// freeKnown frees conn if it is delegated, and reports whether it was.
func (l *loop) freeKnown(conn net.Conn, at *byte) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut {
		return false, ErrWatcherClosed
	}
	l.intake(-1)
	var d *proactor.Desc
	if c, ok := conn.(*Conn); ok {
		if c.loop != l {
			return false, ErrUnsupported
		}
		d = c.desc
	} else {
		l.subMu.Lock()
		d = l.find(at)
		l.subMu.Unlock()
	}
	if d != nil && d.Gone == proactor.None {
		l.release(d, proactor.Freed)
	}
	l.rouse()
	return d != nil, nil
}

// release ends the operations of d and closes its descriptor. The caller holds mu.
func (l *loop) release(d *proactor.Desc, cause proactor.Cause) {
	l.subMu.Lock()
	d.Gone = cause
	if l.conns[d.Key] == d {
		delete(l.conns, d.Key)
	}
	l.subMu.Unlock()
	if at, last := d.Key, len(l.handles)-1; at < uintptr(len(l.handles)) && l.handles[at] == d {
		l.handles[at], l.handles[last].Key = l.handles[last], d.Key
		l.handles[last] = nil
		l.handles = l.handles[:last]
	}
	for dir, q := range d.Queues {
		if op := q.Head; op != nil && op.InFlight && l.backend.Cancel(op) {
			op.Err = errOf(cause)
			l.finish(op)
		}
		l.run(d, proactor.Dir(dir))
	}
	l.backend.Close(d)
	l.live--
}
