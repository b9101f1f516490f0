package aiosuite

import (
	"io"
	"net"
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

// blocked has one write wait because the peer does not read, and another one behind it.
func (r *rig) blocked() (conn *aio.Conn, peer net.Conn, writes []*ticket, all []byte) {
	r.t.Helper()
	conn, peer = r.pair()
	all = pattern(5, 0, r.large+10)
	writes = []*ticket{r.write(conn, all[:r.large]), r.write(conn, all[r.large:])}
	r.idle(soon)
	r.wantPending(writes...)
	return conn, peer, writes, all
}

// readBesideBlockedWrite: a write that waits delays no read, of the same connection or of another
// one.
func readBesideBlockedWrite(r *rig) {
	conn, peer, writes, all := r.blocked()
	other, otherPeer := r.pair()
	for i := range 20 {
		ping := pattern(i, 0, 64)
		k, otherRead := r.readFull(conn, 64, time.Time{}), r.readFull(other, 64, time.Time{})
		if i%2 == 0 {
			r.idle(time.Millisecond) // the reads wait, too
		}
		r.send(peer, ping)
		r.send(otherPeer, ping)
		r.brings(k, ping)
		r.brings(otherRead, ping)
	}
	r.wantPending(writes...)
	got := sink(peer)
	r.allSent(writes...)
	_ = conn.Close()
	r.delivered(got, all)
}

// closeWriteBehindWrites: the peer finds the end behind all that was written. The Watcher still
// reads what it sends.
func closeWriteBehindWrites(r *rig) {
	conn, peer, writes, all := r.blocked()
	end, late := r.closeWrite(conn, time.Time{}), r.write(conn, []byte("late"))
	r.idle(soon)
	r.wantPending(append(writes, end, late)...)
	got := sink(peer)
	r.allSent(writes...)
	r.ends(end, 0, nil)
	r.ends(late, 0, syscall.EPIPE)
	r.delivered(got, all) // though the connection is open
	r.send(peer, []byte("answer"))
	r.brings(r.readFull(conn, 6, time.Time{}), []byte("answer"))
	_ = peer.Close()
	r.ends(r.read(conn, 1), 0, io.EOF)
}

// closeWriteCutShort: a CloseWrite that Cancel or its deadline ends has no effect. Cancel does not
// find a CloseAfterWrites.
func closeWriteCutShort(r *rig) {
	for _, want := range []error{aio.ErrDeadline, aio.ErrCancelled} {
		conn, peer, writes, all := r.blocked()
		end := r.closeWrite(conn, time.Now().Add(soon))
		if want == aio.ErrCancelled {
			r.wantFound(r.moved(end, time.Time{}), 1)
			r.idle(soon)
			r.wantFound(r.cancelled(end), 1)
		}
		r.ends(end, 0, want)
		r.wantPending(writes...)
		writes = append(writes, r.write(conn, []byte("more")))
		last := r.closeAfterWrites(conn, time.Time{})
		r.wantFound(r.cancelled(last), 0)
		got := sink(peer)
		r.allSent(writes...)
		r.ends(last, 0, nil)
		r.delivered(got, append(all, "more"...))
	}
}

// closeAfterWrites: the peer gets all, then the end. Reads go on until then.
func closeAfterWrites(r *rig) {
	conn, peer, writes, all := r.blocked()
	first, second := r.readFull(conn, 3, time.Time{}), r.read(conn, 1)
	end := r.closeAfterWrites(conn, time.Now().Add(time.Hour))
	r.wantClosed(conn)
	r.send(peer, []byte("abc"))
	r.brings(first, []byte("abc"))
	r.wantPending(append(writes, end, second)...)
	before := r.w.Stats().Conns
	got := sink(peer)
	r.until(end)
	if n := r.w.Stats().Conns; n != before-1 {
		r.t.Errorf("%d connections after the close was returned, want %d", n, before-1)
	}
	r.allSent(writes...)
	r.want(end, 0, nil)
	r.ends(second, 0, aio.ErrClosed)
	r.delivered(got, all)
	r.wantClosed(conn)
	_ = conn.Close()
}

// closeAfterWritesCutShort: its deadline, SetDeadline, and Close of the connection end a
// CloseAfterWrites together with the writes.
func closeAfterWritesCutShort(r *rig) {
	for _, tt := range []struct {
		in  time.Duration // its deadline
		act func(end *ticket)
		err error
	}{
		{soon, func(*ticket) {}, aio.ErrDeadline},
		{time.Hour, func(end *ticket) { r.wantFound(r.moved(end, time.Now().Add(soon)), 1) }, aio.ErrDeadline},
		{time.Hour, func(end *ticket) { _ = end.conn.Close() }, aio.ErrClosed},
	} {
		conn, peer, writes, _ := r.blocked()
		read := r.read(conn, 1)
		end := r.closeAfterWrites(conn, time.Now().Add(tt.in))
		r.idle(time.Millisecond)
		tt.act(end)
		r.ends(end, 0, tt.err)
		r.allEnd(aio.ErrClosed, read, writes[1])
		r.delivered(sink(peer), r.cutShort(writes[0], aio.ErrClosed))
	}
}

// closeAfterWritesThatFail: a write that fails is over.
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

// closeAfterWritesWhenFull: a full queue takes a CloseAfterWrites, and no CloseWrite.
func closeAfterWritesWhenFull(r *rig) {
	r.open(aio.Options{MaxQueued: 2})
	conn, peer, writes, all := r.blocked()
	r.refuse(aio.ErrQueueFull, ticket{op: aio.OpCloseWrite, conn: conn})
	end := r.closeAfterWrites(conn, time.Time{})
	got := sink(peer)
	r.until(append(writes, end)...)
	r.want(end, 0, nil)
	r.delivered(got, all)
}

// closeAfterWritesThenClose: a CloseAfterWrites with nothing to wait for is over at once, even if a
// Close follows.
func closeAfterWritesThenClose(r *rig) {
	conn, peer := r.pair()
	end := r.closeAfterWrites(conn, time.Time{})
	_ = conn.Close()
	r.ends(end, 0, nil)
	r.delivered(sink(peer), nil)
}

// closeAfterWritesThenWatcherClose: Close of the Watcher does not wait for a CloseAfterWrites.
func closeAfterWritesThenWatcherClose(r *rig) {
	conn, _, writes, _ := r.blocked()
	end := r.closeAfterWrites(conn, time.Time{})
	idle, _ := r.pair()
	early := r.closeAfterWrites(idle, time.Time{})
	_ = r.w.Close()
	r.drain()
	r.allEnd(aio.ErrWatcherClosed, end, early, writes[1])
}

// closeAfterWritesThenShutdown: Shutdown lets the writes finish, and the close with them.
func closeAfterWritesThenShutdown(r *rig) {
	conn, peer, writes, all := r.blocked()
	read, end := r.read(conn, 1), r.closeAfterWrites(conn, time.Time{})
	r.idle(time.Millisecond)
	got := sink(peer)
	done := r.shutdownNow()
	r.drain()
	Must(r.t, <-done)
	if ended := read.result.Error; ended == aio.ErrClosed { // the peer had read all before Shutdown began
		r.want(read, 0, ended)
	} else {
		r.want(read, 0, aio.ErrWatcherClosed)
	}
	r.allSent(writes...)
	r.want(end, 0, nil)
	r.delivered(got, all)
}
