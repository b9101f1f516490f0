package aio

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"syscall"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// Conn is a connection of a Watcher. Its methods submit operations and return at once, so it is not
// a net.Conn. Any goroutine may call them. It stays open until its Close or the Watcher's.
type Conn struct {
	at     *place
	desc   proactor.Desc
	remote *proactor.Addr // nil if it is in peer4
	peer4  [4]byte        // takes less memory for TCP over IPv4
	port4  uint16
}

// place is the local address and the Watcher, which most connections share.
type place struct {
	watcher *Watcher
	local   net.Addr
}

// watcher returns the Watcher, or nil for the zero Conn.
func (c *Conn) watcher() *Watcher {
	if c.at == nil {
		return nil
	}
	return c.at.watcher
}

// Attach takes conn over, such as a *net.TCPConn or a *net.UnixConn. The watcher duplicates the
// descriptor and closes conn. Socket options stay, except a linger time above zero, because closing
// never waits.
//
// If it fails, the caller still owns conn. The error is ErrNoDescriptor, ErrDatagram, ErrClosed,
// ErrTooManyConns, ErrWatcherClosed, a syscall.Errno such as EMFILE, or that of conn's SyscallConn.
func (w *Watcher) Attach(conn net.Conn) (*Conn, error) {
	if v := reflect.ValueOf(conn); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, ErrNoDescriptor
	}
	c, local := &Conn{}, conn.LocalAddr()
	c.setRemote(proactor.Addr{Other: conn.RemoteAddr()})
	if err := w.takeOver(conn, c, local); err != nil {
		return nil, err
	}
	_ = conn.Close() // This may be the caller's code, so no lock is held
	return c, nil
}

func (w *Watcher) takeOver(conn net.Conn, c *Conn, local net.Addr) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.connsFull() {
		return ErrTooManyConns
	}
	if err := w.take(conn, &c.desc, c); err != nil {
		return err
	}
	c.at = w.placeAt(local)
	return nil
}

func (w *Watcher) placeAt(local net.Addr) *place {
	if w.table.last == nil || !sameAddr(w.table.last.local, local) {
		w.table.last = &place{w, local}
	}
	return w.table.last
}

// take duplicates the descriptor of source. The caller holds mu.
func (w *Watcher) take(source any, d *proactor.Desc, owner any) error {
	if w.refusing() {
		return ErrWatcherClosed
	}
	if err := w.backend.Open(source, d); err != nil {
		return openError(err)
	}
	w.enter(d, owner)
	return nil
}

func (w *Watcher) connsFull() bool { return len(w.table.descs)-w.table.listeners >= w.options.MaxConns }

func (w *Watcher) enter(d *proactor.Desc, owner any) {
	d.Owner, d.Index = owner, int32(len(w.table.descs))
	w.table.descs = append(w.table.descs, d)
	w.countConns()
}

// countConns is for Spread, which does not take mu.
func (w *Watcher) countConns() { w.conns.Store(int32(len(w.table.descs) - w.table.listeners)) }

func (c *Conn) setRemote(a proactor.Addr) {
	if tcp, ok := a.Other.(*net.TCPAddr); ok && tcp != nil {
		a = proactor.Addr{IP: tcp.AddrPort()}
	}
	if ip := a.IP.Addr().Unmap(); ip.Is4() && a.IP.Port() != 0 {
		c.peer4, c.port4 = ip.As4(), a.IP.Port()
		return
	}
	c.remote = new(proactor.Addr)
	*c.remote = a
}

func sameAddr(a, b net.Addr) bool {
	return a != nil && b != nil && a.Network() == b.Network() && a.String() == b.String()
}

func openError(err error) error {
	var errno syscall.Errno
	switch {
	case err == ErrNoDescriptor, err == ErrDatagram, err == ErrUnresolved:
		return err
	case errors.Is(err, net.ErrClosed):
		return ErrClosed
	case errors.As(err, &errno):
		return errno
	}
	return fmt.Errorf("aio: the connection did not give its descriptor: %w", err)
}

// Read submits a read of up to len(buf) bytes, which is over when some have come. A nil buf uses
// the swap buffer.
//
// The rest holds for ReadFull and Write too. The watcher owns buf until WaitIO returns the
// operation. At the deadline the Error is ErrDeadline, and Size says how much was transferred.
// [NoDeadline] means none. An operation is tried once even if its deadline has passed. Read does
// not block. It allocates only if more operations are queued than ever before.
//
// A refused operation has a Result too, with the Error ErrClosed, ErrEmptyBuffer or ErrQueueFull.
// Read itself fails with ErrWatcherClosed, and ErrClosed for the zero Conn.
func (c *Conn) Read(tag any, buf []byte, deadline time.Time) error {
	kind := proactor.Recv
	if buf == nil {
		kind = proactor.Readable
	}
	return c.submit(kind, false, tag, buf, deadline)
}

// ReadFull submits a read that is over when buf is full, or with io.EOF at the peer's end. See
// Read.
func (c *Conn) ReadFull(tag any, buf []byte, deadline time.Time) error {
	return c.submit(proactor.Recv, true, tag, buf, deadline)
}

// Write submits a write of all of buf. Copy a part of the swap buffer before you write it. See
// Read.
func (c *Conn) Write(tag any, buf []byte, deadline time.Time) error {
	return c.submit(proactor.Send, true, tag, buf, deadline)
}

func (c *Conn) submit(kind proactor.Kind, full bool, tag any, buf []byte, deadline time.Time) error {
	w := c.watcher()
	if w == nil {
		return ErrClosed
	}
	op := proactor.Op{Desc: &c.desc, Kind: kind, Full: full, Tag: tag, Buf: buf}
	if (kind == proactor.Recv || kind == proactor.Send) && len(buf) == 0 {
		op.Err = ErrEmptyBuffer
	}
	return w.submit(op, deadline)
}

// LocalAddr returns the local address.
func (c *Conn) LocalAddr() net.Addr {
	if c.at == nil {
		return nil
	}
	return c.at.local
}

// RemoteAddr returns the peer's address.
func (c *Conn) RemoteAddr() net.Addr {
	if a := c.RemoteAddrPort(); a.IsValid() {
		return net.TCPAddrFromAddrPort(a)
	}
	if c.remote == nil {
		return nil
	}
	return c.remote.Net()
}

// RemoteAddrPort returns the peer's address without an allocation. It is invalid without TCP.
func (c *Conn) RemoteAddrPort() netip.AddrPort {
	switch {
	case c.port4 != 0:
		return netip.AddrPortFrom(netip.AddrFrom4(c.peer4), c.port4)
	case c.remote == nil:
		return netip.AddrPort{}
	}
	return c.remote.IP
}

// Close closes the connection at once. Operations that were submitted before are tried once, up to
// the first in each direction that would wait. The others end with ErrClosed. Close always returns
// nil.
func (c *Conn) Close() error {
	if w := c.watcher(); w != nil {
		w.closeDesc(&c.desc)
	}
	return nil
}

func (w *Watcher) closeDesc(d *proactor.Desc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d.Released != proactor.None {
		return
	}
	w.subs.mu.Lock()
	d.State |= proactor.Closed
	w.subs.mu.Unlock()
	w.awaitSend(d)
	w.intakeOf(d)
	w.runAll(d)
	w.settle(d)
	w.release(d, proactor.ConnClosed)
	w.wake()
}

// settle tries queued operations until none of any connection moves, or d has none. The caller
// holds mu.
func (w *Watcher) settle(d *proactor.Desc) {
	for d.Queues != [2]proactor.Queue{} {
		moved := w.backend.Settle(w.polled[:0])
		if len(moved) == 0 {
			return
		}
		w.land(moved)
		w.runAll(d)
	}
}

// release ends the operations of d and closes its descriptor. The caller holds mu.
func (w *Watcher) release(d *proactor.Desc, cause proactor.Cause) {
	w.revive(d)
	w.forget(d, cause)
	for _, q := range d.Queues {
		if op := q.Head; op != nil && op.InFlight && w.backend.Cancel(op) {
			op.Err = errOf(cause)
			w.finish(op)
		}
	}
	w.runAll(d)
	w.backend.Release(d)
	if l, ok := d.Owner.(*Listener); ok {
		w.table.listeners--
		if l.kept != nil {
			_ = l.kept.Close()
		}
	}
}

func (w *Watcher) forget(d *proactor.Desc, cause proactor.Cause) {
	d.Released = cause
	last := w.table.descs[len(w.table.descs)-1]
	w.table.descs[d.Index], last.Index = last, d.Index
	w.table.descs[len(w.table.descs)-1] = nil
	w.table.descs = w.table.descs[:len(w.table.descs)-1]
	w.countConns()
	w.accepts.until = 0 // there is room now
}
