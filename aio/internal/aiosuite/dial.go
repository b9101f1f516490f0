package aiosuite

import (
	"io"
	"net"
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

var dialTests = []test{
	{"Dial", dials, false},
	{"DialAndAcceptInOneLoop", dialsItself, false},
	{"DialRefused", dialRefused, false},
	{"DialToNobody", dialToNobody, false},
	{"DialOfAClosedWatcher", dialOfAClosedWatcher, false},
	{"AttachDatagrams", attachDatagrams, false},
}

func (r *rig) dial(to net.Addr) *ticket {
	r.t.Helper()
	return r.must(ticket{op: aio.OpDial, to: to, deadline: time.Now().Add(time.Hour)})
}

// dials: the connection works as one that was attached.
func dials(r *rig) {
	ln, _ := r.sys.Listener(r.t)
	for range 3 {
		k := r.dial(ln.Addr())
		conn := r.accepted(k)
		peer, err := ln.Accept()
		Must(r.t, err)
		if a, b := conn.LocalAddr(), peer.RemoteAddr(); !r.sys.Bubble &&
			(a.Network() != b.Network() || a.Network() == "tcp" && a.String() != b.String()) {
			r.t.Errorf("the local address is %v; the peer's remote one is %v", a, b)
		}
		if a, b := conn.RemoteAddr().String(), peer.LocalAddr().String(); !r.sys.Bubble && a != b {
			r.t.Errorf("the remote address is %v; the peer's local one is %v", a, b)
		}
		write := r.write(conn, []byte("question"))
		r.until(write)
		r.send(peer, []byte("answer"))
		read := r.readFull(conn, 6, time.Time{})
		r.until(read)
		r.wantData(read, []byte("answer"))
		_ = conn.Close()
		if got, err := io.ReadAll(peer); string(got) != "question" || err != nil {
			r.t.Errorf("the peer got %q, %v", got, err)
		}
		_ = peer.Close()
	}
}

// dialsItself: both ends in one loop.
func dialsItself(r *rig) {
	l, _ := r.listener()
	for range 20 {
		a, d := r.accept(l), r.dial(l.Addr())
		here, there := r.accepted(a), r.accepted(d)
		w := r.write(there, []byte("x"))
		read := r.read(here, 1)
		r.until(w, read)
		r.wantData(read, []byte("x"))
	}
	if s := r.w.Stats(); s.Conns != 40 {
		r.t.Errorf("%+v, want 40 connections", s)
	}
}

// address of a network, as a name that was not resolved.
type named struct{ network, text string }

func (n named) Network() string { return n.network }
func (n named) String() string  { return n.text }

// dialRefused: what is no address comes back with that error.
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

// dialToNobody: a refusal comes as a result, and leaves nothing open.
func dialToNobody(r *rig) {
	ln, _ := r.sys.Listener(r.t)
	to := ln.Addr()
	if tcp, ok := to.(*net.TCPAddr); ok {
		// a port that is free may be another process's before long: that of a connection is not
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

// dialOfAClosedWatcher: a dial ends with the watcher, or has ended before.
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

// attachDatagrams: they are refused by name, and stay the caller's.
func attachDatagrams(r *rig) {
	if r.sys.Bubble {
		return // nothing in memory has datagrams
	}
	a, err := net.ListenPacket("udp", "127.0.0.1:0")
	Must(r.t, err)
	defer func() { _ = a.Close() }()
	c, err := net.Dial("udp", a.LocalAddr().String())
	Must(r.t, err)
	defer func() { _ = c.Close() }()
	if conn, err := r.w.Attach(c); conn != nil || err != aio.ErrDatagram {
		r.t.Errorf("Attach of a UDP connection: %v, %v; want ErrDatagram", conn, err)
	}
	if _, err := c.Write([]byte("mine still")); err != nil {
		r.t.Error("what was refused is no more:", err)
	}
}
