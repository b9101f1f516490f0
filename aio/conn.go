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

// Conn is a connection of a Watcher: [Listener.Accept], [Watcher.Dial] and [Watcher.Attach] make it. Its
// methods submit operations and return at once; it is no net.Conn, whose methods block. All of them may be
// called by any goroutine.
//
// It stays open until its Close or the Watcher's, whether or not the program still refers to it.
type Conn struct {
	at     *place
	desc   proactor.Desc
	remote *proactor.Addr // nil when it is peer4
	peer4  [4]byte        // of TCP over IPv4, which takes less room so
	port4  uint16
}

// place is where connections are that have the same address on this side, mostly all. It does not change.
type place struct {
	watcher *Watcher
	local   net.Addr
}

// watcher returns the Watcher, or nil where none has made c.
func (c *Conn) watcher() *Watcher {
	if c.at == nil {
		return nil
	}
	return c.at.watcher
}

// Attach takes conn over, which has to have a file descriptor (a method SyscallConn, as
// *net.TCPConn and *net.UnixConn have). The watcher duplicates the descriptor and closes conn, so
// that conn's own methods fail with net.ErrClosed from then on. Options that were set before stay
// in force; only a linger time above zero ends: no close waits, and the kernel sends the rest.
//
// When it fails, conn is the caller's still: with ErrNoDescriptor, with ErrDatagram, with ErrClosed when conn was
// closed before, with ErrWatcherClosed, with a syscall.Errno such as EMFILE (a duplicate takes one
// descriptor more, for a moment), or with what conn's SyscallConn said.
func (w *Watcher) Attach(conn net.Conn) (*Conn, error) {
	if v := reflect.ValueOf(conn); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, ErrNoDescriptor
	}
	c, local := &Conn{}, conn.LocalAddr()
	c.setRemote(proactor.Addr{Other: conn.RemoteAddr()})
	if err := w.takeOver(conn, c, local); err != nil {
		return nil, err
	}
	_ = conn.Close() // the backend has a duplicate. It may be the caller's code: no lock is held
	return c, nil
}

// takeOver has the backend duplicate conn's descriptor for c.
func (w *Watcher) takeOver(conn net.Conn, c *Conn, local net.Addr) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.connsFull() {
		return ErrTooManyConns
	}
	if err := w.take(conn, &c.desc, c); err != nil {
		return err
	}
	if w.table.last == nil || !sameAddr(w.table.last.local, local) {
		w.table.last = &place{w, local}
	}
	c.at = w.table.last
	return nil
}

// take has the backend duplicate the descriptor of a connection or a listener for d. The caller holds mu.
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

// connsFull reports whether there may be no more connections. The caller holds mu.
func (w *Watcher) connsFull() bool { return len(w.table.descs)-w.table.listeners >= w.options.MaxConns }

// enter enters d into the table. The caller holds mu.
func (w *Watcher) enter(d *proactor.Desc, owner any) {
	d.Owner, d.Index = owner, int32(len(w.table.descs))
	w.table.descs = append(w.table.descs, d)
}

// setRemote keeps the peer's address.
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

// openError returns what Attach, or Dial, says when the backend says err.
func openError(err error) error {
	var errno syscall.Errno
	switch {
	case errors.Is(err, proactor.ErrNoDescriptor):
		return ErrNoDescriptor
	case errors.Is(err, proactor.ErrDatagram):
		return ErrDatagram
	case errors.Is(err, proactor.ErrAddress):
		return ErrUnresolved
	case errors.Is(err, net.ErrClosed):
		return ErrClosed
	case errors.As(err, &errno):
		return errno
	}
	return fmt.Errorf("aio: the connection did not give its descriptor: %w", err)
}

// Read submits a read of whatever comes first, up to len(buf) bytes. With a nil buf the swap buffer
// is used, when there is something to read and not before.
//
// This holds for Read, ReadFull and Write. The Result has the tag, which is anything that tells the
// caller what to do with it. The watcher owns buf until WaitIO has returned the operation. At the
// deadline it is returned with ErrDeadline, and Size says how much was transferred; [NoDeadline]
// has none. An operation is tried in any case: what is there is read even when the deadline has
// passed, where the swap buffer has room for it. It does not block, and allocates nothing once the
// watcher has seen as many operations at a time.
//
// Every operation has one Result, also one that is refused: the next WaitIO returns that, with Size
// 0 and the Error ErrClosed, ErrEmptyBuffer or ErrQueueFull. So a program looks at Result.Error and
// need not look at what Read returns. That is nil, or ErrWatcherClosed: a Watcher that was closed,
// or is shutting down, takes no operation, and WaitIO says so when all Results have come. Of a Conn
// that no Watcher has made it is ErrClosed.
func (c *Conn) Read(tag any, buf []byte, deadline time.Time) error {
	kind := proactor.Recv
	if buf == nil {
		kind = proactor.Readable
	}
	return c.submit(kind, false, tag, buf, deadline)
}

// ReadFull submits a read that is over when buf is full, or at the peer's end with io.EOF and what
// came before it. See Read for the rest.
func (c *Conn) ReadFull(tag any, buf []byte, deadline time.Time) error {
	return c.submit(proactor.Recv, true, tag, buf, deadline)
}

// Write submits a write of all of buf. A part of the swap buffer can be written only if it is
// copied, as it is used anew by then. See Read for the rest.
func (c *Conn) Write(tag any, buf []byte, deadline time.Time) error {
	return c.submit(proactor.Send, true, tag, buf, deadline)
}

func (c *Conn) submit(kind proactor.Kind, full bool, tag any, buf []byte, deadline time.Time) error {
	w := c.watcher()
	if w == nil {
		return ErrClosed // no Watcher has made it
	}
	op := proactor.Op{Desc: &c.desc, Kind: kind, Full: full, Tag: tag, Buf: buf}
	if (kind == proactor.Recv || kind == proactor.Send) && len(buf) == 0 {
		op.Err = ErrEmptyBuffer
	}
	return w.submit(op, deadline)
}

// LocalAddr returns the address on this side.
func (c *Conn) LocalAddr() net.Addr {
	if c.at == nil {
		return nil // no Watcher has made it
	}
	return c.at.local
}

// RemoteAddr returns the peer's address.
func (c *Conn) RemoteAddr() net.Addr {
	if a := c.RemoteAddrPort(); a.IsValid() {
		return net.TCPAddrFromAddrPort(a)
	}
	if c.remote == nil {
		return nil // no Watcher has made it
	}
	return c.remote.Net()
}

// RemoteAddrPort is RemoteAddr of TCP, and allocates nothing. It is invalid of another connection.
func (c *Conn) RemoteAddrPort() netip.AddrPort {
	switch {
	case c.port4 != 0:
		return netip.AddrPortFrom(netip.AddrFrom4(c.peer4), c.port4)
	case c.remote == nil:
		return netip.AddrPort{} // no Watcher has made it
	}
	return c.remote.IP
}

// Close closes the connection at once. What was submitted before is tried once, in its order: of a
// direction up to the first operation that would have to wait. So writes that the socket has room for
// are sent; what is not over then is returned by WaitIO with ErrClosed, and Size says what was sent of
// it. It always returns nil, and may be called again.
func (c *Conn) Close() error {
	if w := c.watcher(); w != nil {
		w.closeDesc(&c.desc)
	}
	return nil
}

// closeDesc is Close of the connection or the listener at d.
func (w *Watcher) closeDesc(d *proactor.Desc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d.Gone != proactor.None {
		return
	}
	w.subs.mu.Lock()
	d.Closed = true // what intake takes is all that there will be
	w.subs.mu.Unlock()
	w.intakeOf(d)
	w.runAll(d)
	w.settle(d)
	w.release(d, proactor.ConnClosed)
	w.wake()
}

// settle has what is queued of d tried, one after the other, until nothing moves: there come no more
// operations. The caller holds mu.
func (w *Watcher) settle(d *proactor.Desc) {
	for before := heads(d); before != [2]progress{}; {
		w.land(w.backend.Settle(w.polled[:0]))
		w.runAll(d)
		after := heads(d)
		if after == before {
			return
		}
		before = after
	}
}

// progress is what is first in a queue, and how far it is.
type progress struct {
	op   *proactor.Op
	size int
}

func heads(d *proactor.Desc) (h [2]progress) {
	for dir, q := range d.Queues {
		if q.Head != nil {
			h[dir] = progress{q.Head, q.Head.Size}
		}
	}
	return h
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
			l.kept.done()
		}
	}
}

// forget takes d off the table. The caller holds mu.
func (w *Watcher) forget(d *proactor.Desc, cause proactor.Cause) {
	d.Gone = cause
	last := w.table.descs[len(w.table.descs)-1]
	w.table.descs[d.Index], last.Index = last, d.Index
	w.table.descs[len(w.table.descs)-1] = nil
	w.table.descs = w.table.descs[:len(w.table.descs)-1]
	w.accepts.until = 0 // there is room, or a descriptor, now
}
