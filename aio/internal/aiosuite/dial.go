package aiosuite

import (
	"net"
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

func (r *rig) dial(to net.Addr) *ticket {
	r.t.Helper()
	return r.must(ticket{op: aio.OpDial, to: to, deadline: time.Now().Add(time.Hour)})
}

// dials: a dialled connection works as an attached one.
func dials(r *rig) {
	ln, _ := r.sys.Listener(r.t)
	for range 3 {
		conn := r.accepted(r.dial(ln.Addr()))
		peer, err := ln.Accept()
		Must(r.t, err)
		r.wantAddress(true, conn.LocalAddr(), peer.RemoteAddr())
		r.wantAddress(false, conn.RemoteAddr(), peer.LocalAddr())
		r.works(conn, peer)
		_ = conn.Close()
		r.delivered(sink(peer), nil)
		_ = peer.Close()
	}
}

// dialsItself: one Watcher has both ends.
func dialsItself(r *rig) {
	l, _ := r.listener()
	for range 20 {
		a, d := r.accept(l), r.dial(l.Addr())
		here, there := r.accepted(a), r.accepted(d)
		r.allSent(r.write(there, []byte("x")))
		r.brings(r.read(here, 1), []byte("x"))
	}
	if s := r.w.Stats(); s.Conns != 40 {
		r.t.Errorf("%+v, want 40 connections", s)
	}
}

// named is an address as text, which has not been resolved.
type named struct{ network, text string }

func (n named) Network() string { return n.network }
func (n named) String() string  { return n.text }

// dialRefused: a Dial to something that is not a resolved stream address ends with ErrUnresolved.
func dialRefused(r *rig) {
	for _, to := range []net.Addr{
		nil, (*net.TCPAddr)(nil), (*net.UnixAddr)(nil),
		named{"tcp", "localhost:80"},
		named{"tcp", "127.0.0.1"},
		named{"udp", "127.0.0.1:1"},
		&net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, &net.UnixAddr{Name: "x", Net: "unixgram"},
		&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: -1}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1<<16 + 80},
		&net.TCPAddr{IP: net.IP{127, 0, 0}, Port: 1}, &net.TCPAddr{IP: make(net.IP, 17), Port: 1},
		&net.TCPAddr{IP: net.IP{}, Port: 1 << 16},
	} {
		r.refuse(aio.ErrUnresolved, ticket{op: aio.OpDial, to: to})
	}
	if s := r.w.Stats(); s.Conns != 0 || s.Pending != 0 {
		r.t.Errorf("what was refused is there: %+v", s)
	}
}

// dialToNobody: a refused connection is a result, and leaves nothing open.
func dialToNobody(r *rig) {
	ln, _ := r.sys.Listener(r.t)
	to := ln.Addr()
	if tcp, ok := to.(*net.TCPAddr); ok {
		// Another process may take a free port. It cannot take that of a connection.
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: tcp.IP}}
		c, err := d.Dial("tcp", to.String())
		Must(r.t, err)
		defer func() { _ = c.Close() }()
		to = c.LocalAddr()
	} else {
		_ = ln.Close()
	}
	k := r.must(ticket{op: aio.OpDial, to: to})
	r.until(k)
	if err := k.result.Error; err != syscall.ECONNREFUSED && err != syscall.ENOENT {
		r.t.Errorf("Dial to nobody: %v, want ECONNREFUSED, or ENOENT of a unix socket", err)
	}
	if s := r.w.Stats(); s.Conns != 0 || s.Pending != 0 {
		r.t.Errorf("what failed is there: %+v", s)
	}
}

// dialOfAClosedWatcher: a dial ends with the Watcher, or before it.
func dialOfAClosedWatcher(r *rig) {
	ln, _ := r.sys.Listener(r.t)
	k := r.dial(ln.Addr())
	_ = r.w.Close()
	r.drain()
	if k.times != 1 || k.result.Error != nil && k.result.Error != aio.ErrWatcherClosed {
		r.t.Errorf("%d times, %+v", k.times, k.result)
	}
	if err := r.w.Dial(nil, ln.Addr(), aio.NoDeadline); err != aio.ErrWatcherClosed {
		r.t.Errorf("Dial on a closed watcher: %v, want ErrWatcherClosed", err)
	}
}
