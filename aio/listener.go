package aio

import (
	"context"
	"net"
	"net/netip"
	"reflect"
	"sync/atomic"
	"syscall"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// Listener accepts connections for a Watcher. Any goroutine may call its methods.
type Listener struct {
	watcher *Watcher
	desc    proactor.Desc
	addr    net.Addr
	kept    net.Listener // of a unix socket: its Close removes the file. Closed with this Listener

	// Guarded by the watcher's mu.
	local netip.AddrPort // of the newest connection, if addr is unspecified
	at    *place         // of local
	own   bool           // at is of addr
}

// Listen returns a Listener at an address, as net.Listen does. The network is tcp, tcp4, tcp6 or
// unix. Connections have TCP_NODELAY set. They have no keep-alive probes, which cost too much for
// tens of thousands of idle connections. For other socket options use net.ListenConfig and
// [Watcher.AttachListener].
//
// It resolves a name before it returns. It fails with ErrWatcherClosed or a *net.OpError.
func (w *Watcher) Listen(network, address string) (*Listener, error) {
	config := net.ListenConfig{Control: noDelay}
	config.SetMultipathTCP(false) // connections would be of another protocol. Attach such a listener
	ln, err := config.Listen(context.Background(), network, address)
	if err != nil {
		return nil, err
	}
	l, err := w.AttachListener(ln)
	if err != nil {
		_ = ln.Close()
	}
	if errno, ok := err.(syscall.Errno); ok {
		err = &net.OpError{Op: "listen", Net: network, Addr: ln.Addr(), Err: errno}
	}
	return l, err
}

// AttachListener takes over ln, such as a *net.TCPListener or a *net.UnixListener. The watcher
// duplicates its descriptor and closes ln, but a *net.UnixListener only at the Listener's Close,
// because that may remove its file. If it fails, the caller still owns ln. The errors are those of
// [Watcher.Attach].
func (w *Watcher) AttachListener(ln net.Listener) (*Listener, error) {
	if v := reflect.ValueOf(ln); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, ErrNoDescriptor
	}
	l := &Listener{watcher: w, addr: ln.Addr()}
	if tcp, ok := l.addr.(*net.TCPAddr); !ok || !tcp.IP.IsUnspecified() {
		l.own, l.at = true, &place{w, l.addr}
	}
	if _, ok := ln.(*net.UnixListener); ok {
		l.kept = ln
	}
	if err := w.takeListener(ln, l); err != nil {
		return nil, err
	}
	if l.kept == nil {
		_ = ln.Close() // This may be the caller's code, so no lock is held
	}
	return l, nil
}

func (w *Watcher) takeListener(ln net.Listener, l *Listener) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.take(ln, &l.desc, l); err != nil {
		return err
	}
	w.table.listeners++
	return nil
}

// Addr returns the address, with the chosen port if the port was 0.
func (l *Listener) Addr() net.Addr { return l.addr }

// Accept submits the acceptance of one connection. The Result has [OpAccept], and the connection in
// Conn. Submit several, so that one WaitIO returns many connections of a burst. Without a pending
// accept, connections wait in the kernel's queue.
//
// If descriptors or memory are missing, or Options.MaxConns is reached, the accept stays pending.
// It is tried again when the Watcher closes a descriptor, and every 10 ms. Options.Logger gets a
// Warn once. Other errors are those of accept(2) and of [Conn.Read].
func (l *Listener) Accept(tag any, deadline time.Time) error {
	return l.submit(proactor.Op{Desc: &l.desc, Kind: proactor.Accept, Tag: tag}, deadline)
}

// AcceptMultishot submits an Accept that goes on. WaitIO returns each connection with [OpAccept],
// the tag and Result.More, up to 64 at a time. The last Result has no More, and its Error says why.
// An Accept that is submitted later waits for that. It has no deadline.
func (l *Listener) AcceptMultishot(tag any) error {
	return l.submit(proactor.Op{Desc: &l.desc, Kind: proactor.Accept, Tag: tag, Mode: proactor.Multishot}, NoDeadline)
}

func (l *Listener) submit(op proactor.Op, deadline time.Time) error {
	if l.watcher == nil {
		return ErrClosed
	}
	return l.watcher.submit(op, deadline)
}

// Close ends the listening. Pending operations are tried once and then end with ErrClosed.
// Connections that were not accepted are reset. Close always returns nil.
func (l *Listener) Close() error {
	if l.watcher == nil {
		return nil
	}
	l.watcher.closeDesc(&l.desc)
	return nil
}

// placeOf returns the place of a connection that l accepted. At an unspecified address it reuses
// that of the connection before, if it is the same. The caller holds mu.
func (l *Listener) placeOf(d *proactor.Desc) *place {
	if l.own {
		return l.at
	}
	a := l.watcher.backend.Local(d).IP
	if l.at == nil || a != l.local {
		l.local, l.at = a, &place{l.watcher, proactor.Addr{IP: a}.Net()}
	}
	return l.at
}

// Time between tries of an accept that lacks descriptors or memory.
const acceptRest = 10 * time.Millisecond

func (w *Watcher) accepted(op *proactor.Op) bool {
	d := op.Desc
	cause := max(d.Released, op.Cause)
	if op.Err == nil && d.Released == proactor.None {
		if op.Err = w.accept(d.Owner.(*Listener)); op.Err == nil {
			if op.Mode == proactor.Multishot {
				w.pass(op)
				return false
			}
			return true
		}
	}
	switch op.Err {
	case nil, syscall.ECANCELED, syscall.EAGAIN:
		op.Err = errOf(cause)
	case syscall.ECONNABORTED, syscall.EPROTO, syscall.ENETDOWN, syscall.ENOPROTOOPT, syscall.EHOSTDOWN,
		syscall.EHOSTUNREACH, syscall.ENETUNREACH:
		op.Err = errOf(cause) // that connection is gone. Take the next one, as accept(2) says
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM:
		if op.Err = errOf(cause); op.Err == nil {
			w.stall(d)
		}
	}
	return op.Err != nil
}

// accept takes a connection into w.accepts.arrived.
func (w *Watcher) accept(l *Listener) error {
	if w.connsFull() {
		return syscall.EMFILE
	}
	c := w.accepts.unused
	if c == nil {
		c = &Conn{}
	}
	w.accepts.unused = nil
	remote, err := w.backend.Accept(&l.desc, &c.desc)
	if err != nil {
		c.desc = proactor.Desc{}
		w.accepts.unused = c
		return err
	}
	c.setRemote(remote)
	c.at = l.placeOf(&c.desc)
	w.enter(&c.desc, c)
	w.stats.Accepted++
	w.accepts.arrived = c
	return nil
}

// arrive makes an Accept the operation of the connection that it took.
func (w *Watcher) arrive(op *proactor.Op) {
	c := w.accepts.arrived
	w.accepts.arrived = nil
	atomic.AddInt32(&op.Desc.Queued, -1)
	op.Desc, c.desc.Queued = &c.desc, 1
}

// pass returns the connection of a multishot Accept by another operation. The Accept goes on.
func (w *Watcher) pass(op *proactor.Op) {
	c := w.accepts.arrived
	w.accepts.arrived = nil
	w.subs.mu.Lock()
	one := w.operation()
	w.subs.mu.Unlock()
	*one = proactor.Op{Desc: &c.desc, Kind: proactor.Accept, Tag: op.Tag, Mode: proactor.More, Index: -1}
	c.desc.Queued = 1
	w.ended.Push(one)
}

// stall pauses the accepts of d. Connections stay in the kernel's queue.
func (w *Watcher) stall(d *proactor.Desc) {
	d.Starved[proactor.In] = true
	w.accepts.stalled = append(w.accepts.stalled, d)
	w.accepts.until = w.now() + acceptRest
	w.stats.AcceptStalls++
}

func (w *Watcher) unstall() {
	if len(w.accepts.stalled) == 0 || w.now() < w.accepts.until {
		return
	}
	for _, d := range w.accepts.stalled {
		d.Starved[proactor.In] = false
		w.list(d, &w.fair.again)
	}
	clear(w.accepts.stalled)
	w.accepts.stalled = w.accepts.stalled[:0]
}

// warnStalled logs once that accepts are paused. It releases mu, which the caller holds, for the
// Logger.
func (w *Watcher) warnStalled() {
	w.accepts.warned = true
	w.mu.Unlock()
	defer w.mu.Lock() // even if the Logger panics
	w.options.Logger.Warn("aio: a connection waits to be accepted; descriptors, memory or Options.MaxConns are used up",
		"fix", "close connections, or raise the limit (ulimit -n) or MaxConns")
}
