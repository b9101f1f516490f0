package aiosuite

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"time"

	"evenkeel.dev/aio"
)

var acceptTests = []test{
	{"Accept", accepts, false},
	{"AcceptBurst", acceptBurst, false},
	{"AcceptNothingWithoutAnOperation", acceptNothing, false},
	{"AcceptDeadline", acceptDeadline, false},
	{"AcceptCancelled", acceptCancelled, false},
	{"ListenerClosed", listenerClosed, false},
	{"ListenerOfAClosedWatcher", listenerOfAClosedWatcher, false},
	{"AcceptShutdown", acceptShutdown, false},
	{"AcceptRefused", acceptRefused, false},
	{"AcceptMultishot", acceptMultishot, false},
	{"AcceptMultishotEnds", acceptMultishotEnds, false},
	{"AcceptMultishotStalls", acceptMultishotStalls, false},
}

// listener makes a listener, and has the Watcher take it over.
func (r *rig) listener() (*aio.Listener, func() net.Conn) {
	r.t.Helper()
	ln, dial := r.sys.Listener(r.t)
	l, err := r.w.AttachListener(ln)
	Must(r.t, err)
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

// accepted waits for an accept, and returns its connection.
func (r *rig) accepted(k *ticket) *aio.Conn {
	r.t.Helper()
	r.until(k)
	r.want(k, 0, nil)
	if k.result.Conn == nil {
		r.t.FailNow()
	}
	return k.result.Conn
}

// accepts: before and after the peer has connected; the connection works as one that was attached.
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
		if a, b := conn.LocalAddr().String(), peer.RemoteAddr().String(); !r.sys.Bubble && a != b {
			r.t.Errorf("the local address is %v; the peer's remote one is %v", a, b)
		}
		if a, b := conn.RemoteAddr(), peer.LocalAddr(); !r.sys.Bubble &&
			(a.Network() != b.Network() || a.Network() == "tcp" && a.String() != b.String()) {
			r.t.Errorf("the remote address is %v; the peer's local one is %v", a, b)
		}
		message := pattern(i, 0, 100)
		r.send(peer, message)
		read := r.readFull(conn, len(message), time.Time{})
		r.until(read)
		r.wantData(read, message)
		write := r.write(conn, []byte("answer"))
		r.until(write)
		_ = conn.Close()
		if data, err := io.ReadAll(peer); string(data) != "answer" || err != nil {
			r.t.Errorf("the peer: %q, %v", data, err)
		}
	}
	if s := r.w.Stats(); s.Listeners != 1 || s.Accepted != 4 {
		r.t.Errorf("%+v, want one listener and four connections accepted", s)
	}
}

// acceptBurst: many at a time, more and fewer than there are operations; each connection comes once.
func acceptBurst(r *rig) {
	l, dial := r.listener()
	const all = 120
	var ks []*ticket
	var peers []net.Conn
	for range all / 3 {
		ks = append(ks, r.accept(l))
	}
	for i := range all {
		peer := dial()
		peers = append(peers, peer)
		r.send(peer, fmt.Appendf(nil, "%04d", i))
	}
	r.until(ks[0])
	for len(ks) < all {
		ks = append(ks, r.accept(l))
	}
	seen := map[string]bool{}
	for _, k := range ks {
		conn := r.accepted(k)
		read := r.readFull(conn, 4, time.Time{})
		r.until(read)
		if seen[string(read.data)] {
			r.t.Errorf("two connections are that of peer %s", read.data)
		}
		seen[string(read.data)] = true
	}
	if len(seen) != all {
		r.t.Errorf("%d connections, want %d", len(seen), all)
	}
	for _, p := range peers {
		_ = p.Close()
	}
}

// acceptNothing: what no operation asks for waits, and is there for the next.
func acceptNothing(r *rig) {
	l, dial := r.listener()
	r.accepted(func() *ticket { k := r.accept(l); dial(); return k }())
	for range 40 {
		dial()
	}
	r.idle(soon)
	if s := r.w.Stats(); s.Accepted != 1 {
		r.t.Errorf("%d connections were accepted, for one operation", s.Accepted)
	}
	for range 40 {
		r.accepted(r.accept(l))
	}
}

// acceptDeadline: an accept ends at its deadline, and takes no connection with it.
func acceptDeadline(r *rig) {
	l, dial := r.listener()
	k := r.must(ticket{op: aio.OpAccept, listener: l, deadline: time.Now().Add(soon)})
	behind := r.accept(l)
	r.until(k)
	r.want(k, 0, aio.ErrDeadline)
	r.wantPending(behind)
	dial()
	r.accepted(behind)
	k = r.must(ticket{op: aio.OpAccept, listener: l, deadline: time.Now().Add(-time.Hour)})
	r.until(k)
	r.want(k, 0, aio.ErrDeadline)
	dial()
	r.accepted(r.accept(l))
}

// acceptCancelled: who comes then waits, and is there for the next accept.
func acceptCancelled(r *rig) {
	l, dial := r.listener()
	ks := []*ticket{r.accept(l), r.accept(l), r.accept(l)}
	r.idle(soon)
	ks = append(ks, r.accept(l)) // not begun
	for _, k := range ks {
		r.wantFound(r.cancelled(k), 1)
		r.wantFound(r.cancelled(k), 0)
	}
	r.until(ks...)
	for _, k := range ks {
		r.want(k, 0, aio.ErrCancelled)
	}
	peer := dial()
	r.idle(soon)
	conn := r.accepted(r.accept(l))
	r.send(peer, []byte("x"))
	read := r.read(conn, 1)
	r.until(read)
	r.wantData(read, []byte("x"))
	r.wantFound(new(aio.Listener).Cancel(nil), 0)
}

// listenerClosed: what is pending ends; what was accepted does not, and nobody can connect any more.
func listenerClosed(r *rig) {
	ln, dial := r.sys.Listener(r.t)
	l, err := r.w.AttachListener(ln)
	Must(r.t, err)
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
	r.until(first, second)
	r.want(first, 0, aio.ErrClosed)
	r.want(second, 0, aio.ErrClosed)
	r.refuse(aio.ErrClosed,
		ticket{op: aio.OpAccept, listener: l}, ticket{op: aio.OpAccept, listener: l, multishot: true})
	r.send(peer, []byte("x"))
	read := r.read(conn, 1)
	r.until(read)
	r.wantData(read, []byte("x"))
	r.refused(dial)
	if s := r.w.Stats(); s.Listeners != 0 {
		r.t.Errorf("%+v, want no listener", s)
	}
}

// refused checks that nobody listens.
func (r *rig) refused(dial func() (net.Conn, error)) {
	r.t.Helper()
	if peer, err := dial(); err == nil {
		_ = peer.Close()
		r.t.Error("a closed listener does not refuse")
	}
}

// listenerOfAClosedWatcher: accepts end with the watcher, and the listener too.
func listenerOfAClosedWatcher(r *rig) {
	ln, dial := r.sys.Listener(r.t)
	l, err := r.w.AttachListener(ln)
	Must(r.t, err)
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
	ln, _ = r.sys.Listener(r.t)
	if l, err := r.w.AttachListener(ln); l != nil || err != aio.ErrWatcherClosed {
		r.t.Errorf("AttachListener to a closed watcher: %v, %v; want ErrWatcherClosed", l, err)
	}
}

// acceptShutdown: a shutdown refuses connections from its beginning, while what is written is sent.
func acceptShutdown(r *rig) {
	ln, dial := r.sys.Listener(r.t)
	l, err := r.w.AttachListener(ln)
	Must(r.t, err)
	k := r.accept(l)
	peer, err := dial()
	Must(r.t, err)
	defer func() { _ = peer.Close() }()
	conn := r.accepted(k)
	pending := r.accept(l)
	write := r.write(conn, make([]byte, 8*r.large))
	r.idle(soon)
	r.wantPending(pending, write)
	down := make(chan error)
	go func() { down <- r.w.Shutdown(context.Background()) }()
	r.until(pending)
	r.want(pending, 0, aio.ErrWatcherClosed)
	r.refused(dial)
	got := sink(peer)
	r.until(write)
	r.want(write, 8*r.large, nil)
	r.drain()
	Must(r.t, <-down)
	if data, err := got(); len(data) != 8*r.large || err != nil {
		r.t.Errorf("the peer got %d bytes, %v", len(data), err)
	}
}

// acceptRefused: what is wrong by itself is refused at once.
func acceptRefused(r *rig) {
	for _, none := range []net.Listener{nil, (*net.TCPListener)(nil), structListener{}} {
		if l, err := r.w.AttachListener(none); l != nil || err != aio.ErrNoDescriptor {
			r.t.Errorf("AttachListener of %T: %v, %v; want ErrNoDescriptor", none, l, err)
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

func (r *rig) acceptMultishot(l *aio.Listener) *ticket {
	r.t.Helper()
	return r.must(ticket{op: aio.OpAccept, listener: l, multishot: true})
}

// brought waits until a multishot accept has brought n connections, and returns them.
func (r *rig) brought(k *ticket, n int) []*aio.Conn {
	r.t.Helper()
	for len(k.conns) < n {
		if _, err := r.wait(); err != nil {
			r.t.Fatal("WaitIO:", err)
		}
	}
	if len(k.conns) != n {
		r.t.Fatalf("%d connections, want %d", len(k.conns), n)
	}
	return k.conns
}

// acceptMultishot: one operation brings all connections, in bursts and one by one, each of which
// works.
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
	seen := map[string]bool{}
	for i, peer := range peers {
		r.send(peer, fmt.Appendf(nil, "%04d", i))
	}
	for _, conn := range k.conns {
		read := r.readFull(conn, 4, time.Time{})
		r.until(read)
		seen[string(read.data)] = true
	}
	if len(seen) != len(peers) {
		r.t.Errorf("%d connections are of different peers, want %d", len(seen), len(peers))
	}
	if s := r.w.Stats(); s.Pending != 1 || s.Accepted != uint64(len(peers)) {
		r.t.Errorf("%+v; want one operation pending, and %d connections", s, len(peers))
	}
}

// acceptMultishotEnds: by Cancel, by the listener's end, and by the Watcher's. The result that says
// so is the last one, and an accept behind it has its turn then.
func acceptMultishotEnds(r *rig) {
	l, dial := r.listener()
	k, next := r.acceptMultishot(l), r.accept(l)
	dial()
	r.brought(k, 1)
	r.wantPending(k, next)
	r.wantFound(r.cancelled(k), 1)
	r.until(k)
	r.want(k, 0, aio.ErrCancelled)
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
	r.until(k)
	r.want(k, 0, aio.ErrClosed)

	l, dial = r.listener()
	k = r.acceptMultishot(l)
	dial()
	r.brought(k, 1)
	down := make(chan error)
	go func() { down <- r.w.Shutdown(context.Background()) }()
	r.until(k)
	r.want(k, 0, aio.ErrWatcherClosed)
	r.drain()
	Must(r.t, <-down)
}

// acceptMultishotStalls: at the bound of connections it waits, and goes on when one was closed.
func acceptMultishotStalls(r *rig) {
	r.open(aio.Options{MaxConns: 3, Logger: slog.New(slog.DiscardHandler)})
	l, dial := r.listener()
	k := r.acceptMultishot(l)
	for range 5 {
		dial()
	}
	first := slices.Clone(r.brought(k, 3))
	closed := make(chan bool)
	go func() {
		defer close(closed)
		for r.w.Stats().AcceptStalls == 0 {
			time.Sleep(time.Millisecond)
		}
		_ = first[0].Close()
		_ = first[1].Close()
	}()
	r.brought(k, 5)
	<-closed
	r.wantPending(k)
}

// structListener has no method SyscallConn.
type structListener struct{ net.Listener }

func (structListener) Addr() net.Addr { return nil }
