package aiosuite

import (
	"context"
	"io"
	"net"
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

var endingTests = []test{
	{"ReadBesideBlockedWrite", readBesideBlockedWrite, false},
	{"WriteBesideBlockedRead", writeBesideBlockedRead, false},
	{"CloseWriteBehindWrites", closeWriteBehindWrites, false},
	{"CloseWriteAtItsDeadline", closeWriteAtItsDeadline, false},
	{"CloseWriteOfAReset", closeWriteOfAReset, false},
	{"CloseAfterWrites", closeAfterWrites, false},
	{"CloseAfterWritesIdle", closeAfterWritesIdle, false},
	{"CloseAfterWritesAtItsDeadline", closeAfterWritesAtItsDeadline, false},
	{"CloseAfterWritesThatFail", closeAfterWritesThatFail, false},
	{"CloseAfterWritesWhenFull", closeAfterWritesWhenFull, false},
	{"CloseAfterWritesThenClose", closeAfterWritesThenClose, false},
	{"CloseAfterWritesThenWatcherClose", closeAfterWritesThenWatcherClose, false},
	{"CloseAfterWritesThenShutdown", closeAfterWritesThenShutdown, false},
}

// blocked has a write wait, as the peer does not read, and one behind it.
func (r *rig) blocked() (conn *aio.Conn, peer net.Conn, writes []*ticket, all []byte) {
	r.t.Helper()
	conn, peer = r.pair()
	all = pattern(5, 0, r.large+10)
	writes = []*ticket{r.write(conn, all[:r.large]), r.write(conn, all[r.large:])}
	r.idle(soon)
	r.wantPending(writes...)
	return conn, peer, writes, all
}

// readBesideBlockedWrite: a write that waits delays no read of the same connection.
func readBesideBlockedWrite(r *rig) {
	conn, peer, writes, all := r.blocked()
	for i := range 20 {
		ping := pattern(i, 0, 64)
		k := r.readFull(conn, 64, time.Time{})
		if i%2 == 0 {
			r.idle(time.Millisecond) // the read waits, too
		}
		r.send(peer, ping)
		r.until(k)
		r.wantData(k, ping)
	}
	r.wantPending(writes...)
	got := sink(peer)
	r.until(writes...)
	_ = conn.Close()
	data, _ := got()
	r.same("at the peer", data, all)
}

// writeBesideBlockedRead: nor the other way round.
func writeBesideBlockedRead(r *rig) {
	conn, peer := r.pair()
	reads := []*ticket{r.readFull(conn, 9, time.Time{}), r.readSwap(conn)}
	r.idle(soon)
	for i := range 20 {
		k := r.write(conn, pattern(i, 0, 64))
		r.until(k)
		r.want(k, 64, nil)
		got := make([]byte, 64)
		_, _ = io.ReadFull(peer, got)
		r.same("at the peer", got, k.buf)
	}
	r.wantPending(reads...)
}

// closeWriteBehindWrites: the peer finds the end after all that was written, and is still heard.
func closeWriteBehindWrites(r *rig) {
	conn, peer, writes, all := r.blocked()
	end, late := r.closeWrite(conn, time.Time{}), r.write(conn, []byte("late"))
	r.idle(soon)
	r.wantPending(append(writes, end, late)...)
	got := sink(peer)
	r.until(append(writes, end, late)...)
	r.want(end, 0, nil)
	r.want(late, 0, syscall.EPIPE)
	data, err := got() // the end, though the connection is open
	if err != nil {
		r.t.Error("the peer:", err)
	}
	r.same("at the peer", data, all)
	r.send(peer, []byte("answer"))
	k := r.readFull(conn, 6, time.Time{})
	r.until(k)
	r.wantData(k, []byte("answer"))
	_ = peer.Close()
	k = r.read(conn, 1)
	r.until(k)
	r.want(k, 0, io.EOF)
}

// closeWriteAtItsDeadline: what came too late has ended nothing.
func closeWriteAtItsDeadline(r *rig) {
	conn, peer, writes, all := r.blocked()
	end := r.closeWrite(conn, time.Now().Add(soon))
	r.until(end)
	r.want(end, 0, aio.ErrDeadline)
	r.wantPending(writes...)
	got := sink(peer)
	more := r.write(conn, []byte("more"))
	end = r.closeWrite(conn, time.Now().Add(time.Hour))
	r.until(more, end)
	r.want(more, 4, nil)
	r.want(end, 0, nil)
	data, _ := got()
	r.same("at the peer", data, append(all, "more"...))
}

// closeWriteOfAReset: it is returned, whatever the system says of it.
func closeWriteOfAReset(r *rig) {
	conn, peer := r.pair()
	r.until(r.write(conn, []byte("x")))
	if !reset(peer) {
		r.t.Skip("needs a connection that can be reset: unix sockets can on Linux only")
	}
	k := r.read(conn, 1)
	r.until(k)
	r.want(k, 0, syscall.ECONNRESET)
	end := r.closeWrite(conn, time.Time{})
	r.until(end)
	if err := end.result.Error; err != nil && err != syscall.ENOTCONN {
		r.t.Errorf("%v, want nothing or ENOTCONN", err)
	}
}

// refuses checks that conn takes no more operations.
func (r *rig) refuses(conn *aio.Conn) {
	r.t.Helper()
	r.refuse(aio.ErrClosed,
		ticket{conn: conn}, ticket{op: aio.OpWrite, conn: conn, buf: []byte{1}},
		ticket{op: aio.OpCloseWrite, conn: conn}, ticket{op: aio.OpClose, conn: conn})
}

// closeAfterWrites: the peer gets all, then the end; what was read meanwhile counts.
func closeAfterWrites(r *rig) {
	conn, peer, writes, all := r.blocked()
	first, second := r.readFull(conn, 3, time.Time{}), r.read(conn, 1)
	end := r.closeAfterWrites(conn, time.Now().Add(time.Hour))
	r.refuses(conn)
	r.send(peer, []byte("abc"))
	r.until(first)
	r.wantData(first, []byte("abc"))
	r.wantPending(append(writes, end, second)...)
	got := sink(peer)
	r.until(end)
	if s := r.w.Stats(); s.Conns != 1 { // the clock of blocked
		r.t.Errorf("the close was returned, and there are %d connections", s.Conns)
	}
	r.until(append(writes, second)...)
	r.want(writes[0], len(writes[0].buf), nil)
	r.want(writes[1], len(writes[1].buf), nil)
	r.want(end, 0, nil)
	r.want(second, 0, aio.ErrClosed)
	data, err := got()
	if err != nil {
		r.t.Error("the peer:", err)
	}
	r.same("at the peer", data, all)
	r.refuses(conn)
	_ = conn.Close()
}

// closeAfterWritesIdle: with nothing to wait for it closes at once, in a WaitIO that waits, too.
func closeAfterWritesIdle(r *rig) {
	for _, by := range []time.Time{{}, time.Now().Add(-time.Hour), time.Now().Add(time.Hour)} {
		conn, peer := r.pair()
		done, waits := make(chan *ticket), r.waits()
		go func() {
			waits()
			k, err := r.submit(ticket{op: aio.OpClose, conn: conn, deadline: by})
			if err != nil {
				r.t.Error(err)
				_ = r.w.Close()
			}
			done <- k
		}()
		if _, err := r.wait(); err != nil {
			r.t.Fatal(err)
		}
		r.want(<-done, 0, nil)
		if data, err := io.ReadAll(peer); len(data) > 0 || err != nil {
			r.t.Errorf("the peer: %q, %v; want its end", data, err)
		}
	}
}

// closeAfterWritesAtItsDeadline: a peer that does not read keeps the connection no longer.
func closeAfterWritesAtItsDeadline(r *rig) {
	conn, peer, writes, all := r.blocked()
	read := r.read(conn, 1)
	end := r.closeAfterWrites(conn, time.Now().Add(soon))
	r.until(append(writes, read, end)...)
	r.want(end, 0, aio.ErrDeadline)
	r.want(read, 0, aio.ErrClosed)
	r.want(writes[1], 0, aio.ErrClosed)
	if k := writes[0]; k.result.Size == 0 || k.result.Size == len(k.buf) || k.result.Error != aio.ErrClosed {
		r.t.Errorf("the write that waited: %d of %d bytes, %v; want a part and ErrClosed", k.result.Size, len(k.buf),
			k.result.Error)
	}
	data, err := sink(peer)()
	if err != nil {
		r.t.Error("the peer:", err)
	}
	r.same("at the peer", data, all[:writes[0].result.Size])
}

// closeAfterWritesThatFail: writes that fail are over, too.
func closeAfterWritesThatFail(r *rig) {
	conn, peer, writes, _ := r.blocked()
	end := r.closeAfterWrites(conn, time.Time{})
	_ = peer.Close()
	r.until(append(writes, end)...)
	r.want(end, 0, nil)
	if writes[0].result.Error == nil || writes[1].result.Error == nil {
		r.t.Errorf("the writes: %v, %v; want errors", writes[0].result.Error, writes[1].result.Error)
	}
}

// closeAfterWritesWhenFull: a full queue does not keep a connection open.
func closeAfterWritesWhenFull(r *rig) {
	r.open(aio.Options{MaxQueued: 2})
	conn, peer, writes, all := r.blocked()
	r.refuse(aio.ErrQueueFull, ticket{op: aio.OpCloseWrite, conn: conn})
	end := r.closeAfterWrites(conn, time.Time{})
	got := sink(peer)
	r.until(append(writes, end)...)
	r.want(end, 0, nil)
	data, _ := got()
	r.same("at the peer", data, all)
}

// closeAfterWritesThenClose: Close does not wait.
func closeAfterWritesThenClose(r *rig) {
	conn, _, writes, _ := r.blocked()
	end := r.closeAfterWrites(conn, time.Now().Add(time.Hour))
	r.idle(time.Millisecond)
	_ = conn.Close()
	r.until(append(writes, end)...)
	r.want(end, 0, aio.ErrClosed)
	r.want(writes[1], 0, aio.ErrClosed)

	conn, peer := r.pair() // with nothing to wait for, and never begun
	end = r.closeAfterWrites(conn, time.Time{})
	_ = conn.Close()
	r.until(end)
	r.want(end, 0, nil)
	if data, err := io.ReadAll(peer); len(data) > 0 || err != nil {
		r.t.Errorf("the peer: %q, %v; want its end", data, err)
	}
}

// closeAfterWritesThenWatcherClose: nor does the Watcher's.
func closeAfterWritesThenWatcherClose(r *rig) {
	conn, _, writes, _ := r.blocked()
	end := r.closeAfterWrites(conn, time.Time{})
	idle, _ := r.pair()
	early := r.closeAfterWrites(idle, time.Time{})
	_ = r.w.Close()
	r.drain()
	r.want(end, 0, aio.ErrWatcherClosed)
	r.want(early, 0, aio.ErrWatcherClosed)
	r.want(writes[1], 0, aio.ErrWatcherClosed)
}

// closeAfterWritesThenShutdown: Shutdown lets the writes finish, and the close with them.
func closeAfterWritesThenShutdown(r *rig) {
	conn, peer, writes, all := r.blocked()
	read, end := r.read(conn, 1), r.closeAfterWrites(conn, time.Time{})
	r.idle(time.Millisecond)
	got, done := sink(peer), make(chan error)
	go func() { done <- r.w.Shutdown(context.Background()) }()
	r.drain()
	if err := <-done; err != nil {
		r.t.Error(err)
	}
	if ended := read.result.Error; ended == aio.ErrClosed { // the peer had read all before Shutdown began
		r.want(read, 0, ended)
	} else {
		r.want(read, 0, aio.ErrWatcherClosed)
	}
	r.want(writes[0], len(writes[0].buf), nil)
	r.want(writes[1], len(writes[1].buf), nil)
	r.want(end, 0, nil)
	data, _ := got()
	r.same("at the peer", data, all)
}
