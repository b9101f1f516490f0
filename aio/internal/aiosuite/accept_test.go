package aiosuite

import (
	"fmt"
	"net"
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

// rawListener makes a listener that the Watcher has taken over. dial may fail.
func (r *rig) rawListener() (*aio.Listener, func() (net.Conn, error)) {
	r.t.Helper()
	ln, dial := r.sys.Listener(r.t)
	l, err := r.w.AttachListener(ln)
	Must(r.t, err)
	return l, dial
}

// listener is rawListener with a dial that must not fail.
func (r *rig) listener() (*aio.Listener, func() net.Conn) {
	r.t.Helper()
	l, dial := r.rawListener()
	return l, func() net.Conn {
		r.t.Helper()
		peer, err := dial()
		Must(r.t, err)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.peers = append(r.peers, peer)
		return peer
	}
}

func (r *rig) accept(l *aio.Listener) *ticket {
	r.t.Helper()
	return r.must(ticket{op: aio.OpAccept, listener: l})
}

func (r *rig) acceptMultishot(l *aio.Listener) *ticket {
	r.t.Helper()
	return r.must(ticket{op: aio.OpAccept, listener: l, multishot: true})
}

// accepted returns the connection of an accept or a dial.
func (r *rig) accepted(k *ticket) *aio.Conn {
	r.t.Helper()
	r.ends(k, 0, nil)
	if k.result.Conn == nil {
		r.t.FailNow()
	}
	return k.result.Conn
}

// wantAddress checks that both ends have the same address for one of them. A unix socket that has
// dialled has no name, and neither has a connection in memory.
func (r *rig) wantAddress(dialled bool, a, b net.Addr) {
	r.t.Helper()
	if r.sys.Bubble {
		return
	}
	if a.Network() != b.Network() || a.String() != b.String() && !(dialled && a.Network() == "unix") {
		r.t.Errorf("the address is %v; the peer says %v", a, b)
	}
}

// accepts: operations that were submitted before the peer connects, and after.
func accepts(r *rig) {
	l, dial := r.listener()
	for i := range 4 {
		var k *ticket
		var peer net.Conn
		if i%2 == 0 {
			k = r.accept(l)
			r.idle(soon)
			r.wantPending(k)
			peer = dial()
		} else {
			peer = dial()
			k = r.accept(l)
		}
		conn := r.accepted(k)
		r.wantAddress(false, conn.LocalAddr(), peer.RemoteAddr())
		r.wantAddress(true, conn.RemoteAddr(), peer.LocalAddr())
		r.works(conn, peer)
		_ = conn.Close()
		r.delivered(sink(peer), nil)
	}
	if s := r.w.Stats(); s.Listeners != 1 || s.Accepted != 4 {
		r.t.Errorf("%+v, want one listener and four connections accepted", s)
	}
}

// wantPeers checks that each connection is that of another one of the peers.
func (r *rig) wantPeers(conns []*aio.Conn, peers []net.Conn) {
	r.t.Helper()
	for i, peer := range peers {
		r.send(peer, fmt.Appendf(nil, "%04d", i))
	}
	seen := map[string]bool{}
	for _, conn := range conns {
		read := r.readFull(conn, 4, time.Time{})
		r.ends(read, 4, nil)
		seen[string(read.data)] = true
	}
	if len(seen) != len(peers) {
		r.t.Errorf("%d connections are of different peers, want %d", len(seen), len(peers))
	}
}

// acceptBurst: many peers connect at a time, more and fewer than there are operations.
func acceptBurst(r *rig) {
	l, dial := r.listener()
	const all = 120
	var ks []*ticket
	var peers []net.Conn
	for range all / 3 {
		ks = append(ks, r.accept(l))
	}
	for range all {
		peers = append(peers, dial())
	}
	r.until(ks[0])
	for len(ks) < all {
		ks = append(ks, r.accept(l))
	}
	var conns []*aio.Conn
	for _, k := range ks {
		conns = append(conns, r.accepted(k))
	}
	r.wantPeers(conns, peers)
}

// acceptDeadline: an accept ends at its deadline, and takes no connection.
func acceptDeadline(r *rig) {
	l, dial := r.listener()
	for _, by := range []time.Duration{soon, -time.Hour} {
		k := r.must(ticket{op: aio.OpAccept, listener: l, deadline: time.Now().Add(by)})
		behind := r.accept(l)
		r.ends(k, 0, aio.ErrDeadline)
		r.wantPending(behind)
		dial()
		r.accepted(behind)
	}
}

// acceptCancelled: a connection that comes after a cancelled accept waits for the next one.
func acceptCancelled(r *rig) {
	l, dial := r.listener()
	ks := []*ticket{r.accept(l), r.accept(l), r.accept(l)}
	r.idle(soon)
	ks = append(ks, r.accept(l)) // not begun
	for _, k := range ks {
		r.wantFound(r.cancelled(k), 1)
		r.wantFound(r.cancelled(k), 0)
	}
	r.allEnd(aio.ErrCancelled, ks...)
	peer := dial()
	r.idle(soon)
	r.works(r.accepted(r.accept(l)), peer)
	r.wantFound(new(aio.Listener).Cancel(nil), 0)
}

// listenerClosed: pending accepts end, new ones and peers are refused. Accepted connections go on.
func listenerClosed(r *rig) {
	l, dial := r.rawListener()
	k := r.accept(l)
	peer, err := dial()
	Must(r.t, err)
	defer func() { _ = peer.Close() }()
	conn := r.accepted(k)
	first, second := r.accept(l), r.accept(l)
	r.idle(soon)
	for range 2 {
		Must(r.t, l.Close())
	}
	r.allEnd(aio.ErrClosed, first, second)
	r.refuse(aio.ErrClosed,
		ticket{op: aio.OpAccept, listener: l}, ticket{op: aio.OpAccept, listener: l, multishot: true})
	r.works(conn, peer)
	r.refused(dial)
	if s := r.w.Stats(); s.Listeners != 0 {
		r.t.Errorf("%+v, want no listener", s)
	}
}

func (r *rig) refused(dial func() (net.Conn, error)) {
	r.t.Helper()
	if peer, err := dial(); err == nil {
		_ = peer.Close()
		r.t.Error("a closed listener does not refuse")
	}
}

// listenerOfAClosedWatcher: accepts and the listener end with the Watcher.
func listenerOfAClosedWatcher(r *rig) {
	l, dial := r.rawListener()
	k := r.accept(l)
	r.idle(soon)
	_ = r.w.Close()
	if _, err := r.submit(ticket{op: aio.OpAccept, listener: l}); err != aio.ErrWatcherClosed {
		r.t.Errorf("Accept on a closed watcher: %v, want ErrWatcherClosed", err)
	}
	r.drain()
	r.want(k, 0, aio.ErrWatcherClosed)
	Must(r.t, l.Close())
	r.refused(dial)
	ln, _ := r.sys.Listener(r.t)
	if l, err := r.w.AttachListener(ln); l != nil || err != aio.ErrWatcherClosed {
		r.t.Errorf("AttachListener to a closed watcher: %v, %v; want ErrWatcherClosed", l, err)
	}
}

// acceptShutdown: Shutdown refuses peers at once, and then waits for the writes.
func acceptShutdown(r *rig) {
	l, dial := r.rawListener()
	k := r.accept(l)
	peer, err := dial()
	Must(r.t, err)
	defer func() { _ = peer.Close() }()
	conn := r.accepted(k)
	pending := r.accept(l)
	write := r.write(conn, make([]byte, 8*r.large))
	r.idle(soon)
	r.wantPending(pending, write)
	down := r.shutdownNow()
	r.ends(pending, 0, aio.ErrWatcherClosed)
	r.refused(dial)
	got := sink(peer)
	r.allSent(write)
	r.drain()
	Must(r.t, <-down)
	r.delivered(got, write.buf)
}

// structListener has no method SyscallConn.
type structListener struct{ net.Listener }

func (structListener) Addr() net.Addr { return nil }

// acceptRefused: listeners without a descriptor, closed ones, and a full queue.
func acceptRefused(r *rig) {
	for _, ln := range []net.Listener{nil, (*net.TCPListener)(nil), structListener{}} {
		if l, err := r.w.AttachListener(ln); l != nil || err != aio.ErrNoDescriptor {
			r.t.Errorf("AttachListener of %T: %v, %v; want ErrNoDescriptor", ln, l, err)
		}
	}
	ln, _ := r.sys.Listener(r.t)
	_ = ln.Close()
	if l, err := r.w.AttachListener(ln); l != nil || err != aio.ErrClosed {
		r.t.Errorf("AttachListener of a closed one: %v, %v; want ErrClosed", l, err)
	}
	if err := new(aio.Listener).Accept(nil, aio.NoDeadline); err != aio.ErrClosed {
		r.t.Errorf("Accept of a zero Listener: %v, want ErrClosed", err)
	}
	Must(r.t, new(aio.Listener).Close())
	r.open(aio.Options{MaxQueued: 3})
	l, _ := r.listener()
	for range 3 {
		r.accept(l)
	}
	r.refuse(aio.ErrQueueFull, ticket{op: aio.OpAccept, listener: l})
}

// brought waits for n connections of a multishot accept.
func (r *rig) brought(k *ticket, n int) []*aio.Conn {
	r.t.Helper()
	for len(k.conns) < n {
		r.results()
	}
	if len(k.conns) != n {
		r.t.Fatalf("%d connections, want %d", len(k.conns), n)
	}
	return k.conns
}

// acceptMultishot: one operation brings all connections, in bursts and one by one.
func acceptMultishot(r *rig) {
	l, dial := r.listener()
	k := r.acceptMultishot(l)
	var peers []net.Conn
	for _, burst := range []int{1, 100, 1, 30} {
		for range burst {
			peers = append(peers, dial())
		}
		r.brought(k, len(peers))
		r.idle(time.Millisecond)
		r.wantPending(k)
	}
	r.wantPeers(k.conns, peers)
	if s := r.w.Stats(); s.Pending != 1 || s.Accepted != uint64(len(peers)) {
		r.t.Errorf("%+v; want one operation pending, and %d connections", s, len(peers))
	}
}

// acceptMultishotEnds: Cancel, the listener's Close, and the Watcher's end a multishot accept. Its
// last result says so, and the accept behind it has its turn.
func acceptMultishotEnds(r *rig) {
	l, dial := r.listener()
	k, next := r.acceptMultishot(l), r.accept(l)
	dial()
	r.brought(k, 1)
	r.wantPending(k, next)
	r.wantFound(r.cancelled(k), 1)
	r.ends(k, 0, aio.ErrCancelled)
	dial()
	r.accepted(next)
	for range 40 {
		dial()
	}
	r.idle(soon)
	if s := r.w.Stats(); s.Accepted != 2 {
		r.t.Errorf("%d connections were accepted, and no operation asks for more than 2", s.Accepted)
	}
	k = r.acceptMultishot(l)
	r.brought(k, 40)
	Must(r.t, l.Close())
	r.ends(k, 0, aio.ErrClosed)

	l, dial = r.listener()
	k = r.acceptMultishot(l)
	dial()
	r.brought(k, 1)
	down := r.shutdownNow()
	r.ends(k, 0, aio.ErrWatcherClosed)
	r.drain()
	Must(r.t, <-down)
}

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
