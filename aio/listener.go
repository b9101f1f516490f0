package aio

import (
	"context"
	"net"
	"net/netip"
	"reflect"
	"sync/atomic"
	"syscall"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/aio/internal/proactor"
)

// ListenOptions configures a Listener. The zero value works.
type ListenOptions struct {
	// Backlog is how many connections may wait to be accepted (listen(2)); the kernel bounds it by
	// net.core.somaxconn on Linux and kern.ipc.somaxconn on the others, silently. What comes when it is full
	// is refused or has to try again. Default: the system's bound. Limit: 2^16-1 connections.
	Backlog int

	// ReusePort has several listeners share one address, each with a queue of its own, for which
	// the kernel draws by the connection's addresses (socket(7), SO_REUSEPORT; on FreeBSD
	// SO_REUSEPORT_LB). macOS, OpenBSD, NetBSD and unix sockets do not balance so. Default: false.
	ReusePort bool

	// Control, if not nil, is called with each socket before it is bound, as that of
	// net.ListenConfig. Connections inherit most options of their listener. Default: nil.
	Control func(network, address string, c syscall.RawConn) error
}

const maxBacklog = 1<<16 - 1

// check returns an *evenkeel.OptionError for what cannot be used.
func (o *ListenOptions) check() error {
	if o.Backlog < 0 || o.Backlog > maxBacklog {
		return evenkeel.NewOptionError("aio.ListenOptions", "Backlog",
			"%d is not a backlog: write 1 to %d connections, or 0 for the system's bound", o.Backlog,
			maxBacklog)
	}
	return nil
}

// Listener accepts connections for a Watcher: [Watcher.Listen] and [Watcher.AttachListener] make it.
// Its methods may be called by any goroutine, and none of them waits for a connection.
type Listener struct {
	watcher *Watcher
	desc    proactor.Desc
	addr    net.Addr
	kept    *socket // not nil: closed with this Listener

	// Guarded by the watcher's mu.
	local netip.AddrPort // of the connection accepted last, when addr does not say it
	at    *place         // of that,
	own   bool           // or of addr
}

// Listen returns a Listener at an address, as net.Listen does: network is tcp, tcp4, tcp6 or unix,
// and a unix address that begins with @ is abstract (Linux). Connections have TCP_NODELAY set, as those of
// package net have, but no keep-alive probes, which tens of thousands of idle connections would pay for.
//
// It resolves a name, if the address has one, before it returns. It fails with an *evenkeel.OptionError, with
// ErrWatcherClosed, and with a *net.OpError.
func (w *Watcher) Listen(network, address string, o ListenOptions) (*Listener, error) {
	l, err := Listen(network, address, o, w)
	if err != nil {
		return nil, err
	}
	return l[0], nil
}

// listen makes the socket.
func listen(network, address string, o *ListenOptions) (net.Listener, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	switch network {
	case "tcp", "tcp4", "tcp6", "unix":
	default:
		return nil, &net.OpError{Op: "listen", Net: network, Err: net.UnknownNetworkError(network)}
	}
	config := net.ListenConfig{Control: func(network, address string, c syscall.RawConn) error {
		if err := prepare(network, o.ReusePort, c); err != nil || o.Control == nil {
			return err
		}
		return o.Control(network, address, c)
	}}
	config.SetMultipathTCP(false) // a connection of it is another protocol's; who wants it attaches a listener
	ln, err := config.Listen(context.Background(), network, address)
	if err != nil || o.Backlog == 0 {
		return ln, err
	}
	if err := setBacklog(ln, o.Backlog); err != nil {
		_ = ln.Close()
		return nil, listenError(ln.Addr(), err)
	}
	return ln, nil
}

// listenError is err as package net would have it, where the system has said it of a Listener's socket.
func listenError(at net.Addr, err error) error {
	if errno, ok := err.(syscall.Errno); ok {
		return &net.OpError{Op: "listen", Net: at.Network(), Addr: at, Err: errno}
	}
	return err
}

// AttachListener takes ln over, which has to have a file descriptor, as *net.TCPListener and
// *net.UnixListener have. The watcher duplicates it, and ln is closed; a *net.UnixListener, whose Close removes
// its file unless it was told otherwise, by the Listener's Close. ln is not to be used meanwhile.
//
// When it fails, ln is the caller's still. The errors are those of [Watcher.Attach].
func (w *Watcher) AttachListener(ln net.Listener) (*Listener, error) {
	if v := reflect.ValueOf(ln); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, ErrNoDescriptor
	}
	s := newSocket(ln)
	l, err := w.attachListener(s)
	if err != nil {
		return nil, err
	}
	s.done()
	return l, nil
}

// attachListener has the backend duplicate the descriptor of s.
func (w *Watcher) attachListener(s *socket) (*Listener, error) {
	l := &Listener{watcher: w, addr: s.Addr()}
	if tcp, ok := l.addr.(*net.TCPAddr); !ok || !tcp.IP.IsUnspecified() {
		l.own, l.at = true, &place{w, l.addr}
	}
	if _, ok := s.Listener.(*net.UnixListener); ok {
		s.users.Add(1)
		l.kept = s
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.take(s.Listener, &l.desc, l)
	if err != nil && l.kept != nil {
		l.kept.done()
	}
	if err == nil {
		w.table.listeners++
	}
	return l, err
}

// Addr returns the address, with the port that was chosen for port 0.
func (l *Listener) Addr() net.Addr { return l.addr }

// Accept submits the acceptance of one connection: WaitIO returns it with [OpAccept], and Result.Conn
// is the connection. Several may be pending, and are served in their order, so that one WaitIO returns many
// connections of a burst. What comes while none is pending waits in the kernel's queue.
//
// The tag, the deadline and the errors are those of [Conn.Read]. A connection that its peer has
// reset before it was accepted may be left out. When there are no descriptors or no memory for one
// (EMFILE, ENFILE, ENOBUFS, ENOMEM), or Options.MaxConns are open, it stays in the kernel's queue
// and the operation pending: it is tried again when the Watcher has closed a descriptor, and every
// 10 ms. Stats.AcceptStalls counts this, and Options.Logger gets a Warn, once a Watcher. Another
// error is a syscall.Errno of accept(2).
func (l *Listener) Accept(tag any, deadline time.Time) error {
	return l.submit(proactor.Op{Desc: &l.desc, Kind: proactor.Accept, Tag: tag}, deadline)
}

// AcceptMultishot submits an Accept that goes on by itself: WaitIO returns each connection with
// [OpAccept], that tag and Result.More, up to 64 of a burst at a time. The Result without More is
// the last one, and its Error says why: the Listener or the Watcher was closed, [Listener.Cancel]
// has found the tag, or accept(2) failed. So a server accepts until then, whatever its loop
// forgets. An Accept that is submitted later waits for that end. The Errors, and what happens
// without descriptors, are those of [Listener.Accept].
//
// It has no deadline. To accept no more for a while, Cancel it. Options.MaxConns bounds the
// connections.
func (l *Listener) AcceptMultishot(tag any) error {
	return l.submit(proactor.Op{Desc: &l.desc, Kind: proactor.Accept, Tag: tag, Mode: proactor.Multishot}, NoDeadline)
}

func (l *Listener) submit(op proactor.Op, deadline time.Time) error {
	if l.watcher == nil {
		return ErrClosed // no Watcher has made it
	}
	return l.watcher.submit(op, deadline)
}

// Close ends the listening: pending operations are tried once, as those of [Conn.Close] are, and what is
// not over then is returned with ErrClosed. Connections that nobody has accepted are reset. What was
// accepted is not touched. It always returns nil, and may be called again.
func (l *Listener) Close() error {
	if l.watcher == nil {
		return nil // no Watcher has made it
	}
	l.watcher.closeDesc(&l.desc)
	return nil
}

// Listen has several watchers listen at one address, as [Watcher.Listen] has one, and returns a Listener
// of each, in their order; they have one port, also where the address has port 0. With
// ListenOptions.ReusePort each watcher has a socket of its own and its share of the connections, which wait
// for it although others are idle. Without, all have one socket, and who is awake first accepts: no
// connection waits for a watcher that is busy, and the shares are uneven. When it fails nothing listens.
func Listen(network, address string, o ListenOptions, watchers ...*Watcher) (listeners []*Listener, err error) {
	var s *socket
	defer func() {
		if s != nil {
			s.done()
		}
		for _, l := range listeners {
			if err != nil {
				_ = l.Close()
			}
		}
	}()
	for _, w := range watchers {
		if s == nil || o.ReusePort {
			ln, err := listen(network, address, &o)
			if err != nil {
				return listeners, err
			}
			if s != nil {
				s.done()
			}
			s = newSocket(ln)
			address = ln.Addr().String()
		}
		l, err := w.attachListener(s)
		if err != nil {
			return listeners, listenError(s.Addr(), err)
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

// socket is a listening socket of package net. That of a unix socket is kept, as its Close removes
// the file.
type socket struct {
	net.Listener
	users atomic.Int32 // who made it, and the Listeners that keep it
}

func newSocket(ln net.Listener) *socket {
	s := &socket{Listener: ln}
	s.users.Store(1)
	return s
}

// done has one user less. The last one's closes it.
func (s *socket) done() {
	if s.users.Add(-1) == 0 {
		_ = s.Close()
	}
}

// placeOf returns the place of a connection that l has accepted: with l's own address, or where that
// stands for many that of the last one if it is the same. The caller holds mu.
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
