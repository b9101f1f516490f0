package aiosuite

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/internal/testutil"
)

// busy has operations of all kinds wait on a connection. Some are half done.
func (r *rig) busy(parts ...int) (conn *aio.Conn, peer net.Conn, reads, writes []*ticket) {
	r.t.Helper()
	conn, peer = r.pair()
	r.sendThere(conn, peer, pattern(1, 0, 10))
	reads = []*ticket{r.readFull(conn, 20, time.Time{}), r.readSwap(conn), r.read(conn, 5), r.must(ticket{
		conn: conn, buf: make([]byte, 9), deadline: time.Now().Add(time.Hour),
	})}
	writes = []*ticket{r.write(conn, pattern(2, 0, r.large), parts...), r.write(conn, []byte("behind"), parts...)}
	r.idle(soon)
	r.wantPending(append(reads, writes...)...)
	return conn, peer, reads, writes
}

// wantCut checks that the operations of busy ended with err, and returns what the first write has
// sent.
func (r *rig) wantCut(reads, writes []*ticket, err error) (sent []byte) {
	r.t.Helper()
	r.ends(reads[0], 10, err)
	r.same("before the end", reads[0].data, pattern(1, 0, 10))
	r.allEnd(err, reads[1:]...)
	sent = r.cutShort(writes[0], err)
	r.ends(writes[1], 0, err)
	return sent
}

// connClosePending: Close of a connection ends its operations with ErrClosed. Their results say how
// far they came.
func connClosePending(r *rig) {
	for _, parts := range writeForms {
		conn, peer, reads, writes := r.busy(parts...)
		before := r.w.Stats().Conns
		got := sink(peer)
		Must(r.t, conn.Close())
		if n := r.w.Stats().Conns; n != before-1 {
			r.t.Errorf("%d connections after Close, want %d", n, before-1)
		}
		r.delivered(got, r.wantCut(reads, writes, aio.ErrClosed))
	}
}

// connCloseBehindMany: Close first tries all operations that were submitted before it. A read that
// has to wait does not delay a write.
func connCloseBehindMany(r *rig) {
	if r.sys.Faulty {
		return // each of them may have to wait
	}
	rounds := 40
	if testutil.Checking() {
		rounds = 200
	}
	for round := range rounds {
		conn, peer := r.pair()
		r.sendThere(conn, peer, []byte("abc"))
		reads := []*ticket{r.read(conn, 1), r.readSwap(conn), r.read(conn, 1)}
		var writes []*ticket
		var all []byte
		for i := range 20 {
			data := pattern(i, round, 10)
			writes, all = append(writes, r.write(conn, data)), append(all, data...)
		}
		got := sink(peer)
		_ = conn.Close()
		r.allSent(writes...)
		r.brings(reads[0], []byte("a"))
		r.brings(reads[1], []byte("bc"))
		r.ends(reads[2], 0, aio.ErrClosed)
		r.delivered(got, all)
	}
}

// connCloseAtOnceWhenFull: the same, while a read of the connection waits for room in the swap
// buffer.
func connCloseAtOnceWhenFull(r *rig) {
	const size = 8
	r.open(aio.Options{SwapSize: size})
	var reads []*ticket
	for i := range 2 {
		conn, peer := r.pair()
		r.send(peer, pattern(i, 0, 4*size))
		reads = append(reads, r.readSwap(conn))
	}
	r.results()
	for _, read := range reads {
		if r.times(read) > 0 {
			continue
		}
		k := r.write(read.conn, []byte("bye"))
		_ = read.conn.Close()
		r.until(read, k)
		if !r.sys.Faulty {
			r.want(k, 3, nil)
		}
	}
}

// connCloseTwice: the second Close does nothing. A closed connection refuses operations.
func connCloseTwice(r *rig) {
	conn := r.pairWith([]byte("x"))
	k := r.readFull(conn, 3, time.Time{})
	r.idle(soon)
	Must(r.t, conn.Close())
	Must(r.t, conn.Close())
	r.wantClosed(conn)
	r.ends(k, 1, aio.ErrClosed)
	Must(r.t, conn.Close())
	r.idle(soon)
}

// closed checks what a closed Watcher answers.
func (r *rig) closed(conn *aio.Conn) {
	r.t.Helper()
	if err := errors.Join(r.w.Close(), r.w.Shutdown(context.Background()), conn.Close()); err != nil {
		r.t.Error("Close, Shutdown and a connection's Close, after Close:", err)
	}
	for _, k := range []ticket{
		{conn: conn, buf: []byte{1}},
		{conn: conn, op: aio.OpWrite, buf: []byte{1}},
		{op: aio.OpPost},
	} {
		if _, err := r.submit(k); err != aio.ErrWatcherClosed {
			r.t.Errorf("%v: %v, want ErrWatcherClosed", k.op, err)
		}
	}
	fresh, _ := r.raw()
	if _, err := r.w.Attach(fresh); err != aio.ErrWatcherClosed {
		r.t.Errorf("Attach: %v, want ErrWatcherClosed", err)
	}
	for range 2 {
		if results, err := r.w.WaitIO(); len(results) > 0 || err != aio.ErrWatcherClosed {
			r.t.Errorf("WaitIO at the end: %v, %v", results, err)
		}
	}
}

// closePending: WaitIO returns all that Close has ended, and then ErrWatcherClosed.
func closePending(r *rig) {
	conn, peer, reads, writes := r.busy()
	idle, idlePeer := r.pair()
	fresh := []*ticket{r.read(idle, 1), r.readSwap(idle)} // never begun
	got := sink(peer)
	Must(r.t, r.w.Close())
	r.drain()
	r.delivered(got, r.wantCut(reads, writes, aio.ErrWatcherClosed))
	r.allEnd(aio.ErrWatcherClosed, fresh...)
	r.delivered(sink(idlePeer), nil)
	r.closed(conn)
}

// endWhileWaiting returns a test of a Close, or of a Shutdown, while WaitIO waits for reads or for
// nothing.
func endWhileWaiting(end func(*aio.Watcher) error, conns int) func(*rig) {
	return func(r *rig) {
		var ks []*ticket
		for range conns {
			conn, _ := r.pair()
			ks = append(ks, r.read(conn, 1), r.readSwap(conn))
		}
		var err error
		done := r.whileWaiting(func() { err = end(r.w) })
		r.drain()
		done()
		Must(r.t, err)
		r.allEnd(aio.ErrWatcherClosed, ks...)
	}
}

func shutDown(w *aio.Watcher) error { return w.Shutdown(context.Background()) }

// shutdownNow calls Shutdown in another goroutine.
func (r *rig) shutdownNow() <-chan error {
	done := make(chan error, 1)
	go func() { done <- shutDown(r.w) }()
	return done
}

// shutdown: pending writes are sent, pending reads end, and the Watcher takes nothing new.
func shutdown(r *rig) {
	conn, peer, reads, writes := r.busy()
	done := r.shutdownNow()
	r.ends(reads[0], 10, aio.ErrWatcherClosed)
	r.allEnd(aio.ErrWatcherClosed, reads[1:]...)
	if _, err := r.submit(ticket{conn: conn, buf: []byte{1}, op: aio.OpWrite}); err != aio.ErrWatcherClosed {
		r.t.Errorf("a write while it shuts down: %v, want ErrWatcherClosed", err)
	}
	again := r.shutdownNow()
	r.wantPending(writes...)
	got := sink(peer)
	r.allSent(writes...)
	r.drain()
	if err := errors.Join(<-done, <-again); err != nil {
		r.t.Error("Shutdown, twice:", err)
	}
	r.delivered(got, append(pattern(2, 0, r.large), "behind"...))
	r.closed(conn)
}

// shutdownInTime: when the context ends, Shutdown ends all that is pending, as Close does.
func shutdownInTime(r *rig) {
	conn, _, reads, writes := r.busy()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	done := make(chan error)
	go func() { done <- r.w.Shutdown(ctx) }()
	r.drain()
	if err := <-done; err != context.DeadlineExceeded {
		r.t.Errorf("Shutdown: %v, want the context's error", err)
	}
	r.wantCut(reads, writes, aio.ErrWatcherClosed)
	r.closed(conn)
}

// shutdownIdle: with nothing pending, Shutdown needs no goroutine in WaitIO.
func shutdownIdle(r *rig) {
	conn, peer := r.pair()
	r.until(r.write(conn, []byte("x")))
	Must(r.t, shutDown(r.w))
	r.delivered(sink(peer), []byte("x"))
	r.drain()
	r.closed(conn)
}

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
