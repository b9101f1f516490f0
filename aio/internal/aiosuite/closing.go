package aiosuite

import (
	"context"
	"io"
	"net"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/internal/testutil"
)

var closeTests = []test{
	{"ConnClosePending", connClosePending, false},
	{"ConnCloseAtOnce", connCloseAtOnce, false},
	{"ConnCloseBehindMany", connCloseBehindMany, false},
	{"ConnCloseAtOnceWhenFull", connCloseAtOnceWhenFull, false},
	{"ConnCloseTwice", connCloseTwice, false},
	{"ConnCloseWhileWaiting", connCloseWhileWaiting, false},
	{"ClosePending", closePending, false},
	{"CloseBeforeWaitIO", closeBeforeWaitIO, false},
	{"CloseWhileWaiting", closeWhileWaiting, false},
	{"CloseIdleWhileWaiting", closeIdleWhileWaiting, false},
	{"Shutdown", shutdown, false},
	{"ShutdownInTime", shutdownInTime, false},
	{"ShutdownIdle", shutdownIdle, false},
	{"ShutdownWhileWaiting", shutdownWhileWaiting, false},
}

// busy has operations of all kinds wait on a connection, some of them half done.
func (r *rig) busy() (conn *aio.Conn, peer net.Conn, reads, writes []*ticket) {
	r.t.Helper()
	conn, peer = r.pair()
	r.sendThere(conn, peer, pattern(1, 0, 10))
	reads = []*ticket{r.readFull(conn, 20, time.Time{}), r.readSwap(conn), r.read(conn, 5), r.must(ticket{
		conn: conn, buf: make([]byte, 9), deadline: time.Now().Add(time.Hour),
	})}
	writes = []*ticket{r.write(conn, pattern(2, 0, r.large)), r.write(conn, []byte("behind"))}
	r.idle(soon)
	r.wantPending(append(reads, writes...)...)
	return conn, peer, reads, writes
}

// wantCut checks that what busy has begun ended before its time.
func (r *rig) wantCut(reads, writes []*ticket, err error) {
	r.t.Helper()
	r.want(reads[0], 10, err)
	r.same("before the end", reads[0].data, pattern(1, 0, 10))
	for _, k := range reads[1:] {
		r.want(k, 0, err)
	}
	if n := writes[0].result.Size; n == 0 || n == len(writes[0].buf) || writes[0].result.Error != err {
		r.t.Errorf("the write: %d of %d bytes, %v; want a part and %v", n, len(writes[0].buf), writes[0].result.Error, err)
	}
	r.want(writes[1], 0, err)
}

// connClosePending: Close of a connection returns what is pending with aio.ErrClosed, and how far it came.
func connClosePending(r *rig) {
	conn, peer, reads, writes := r.busy()
	got := sink(peer)
	if err := conn.Close(); err != nil {
		r.t.Error(err)
	}
	if s := r.w.Stats(); s.Conns != 1 { // the clock of busy
		r.t.Errorf("after Close: %+v", s)
	}
	r.until(append(reads, writes...)...)
	r.wantCut(reads, writes, aio.ErrClosed)
	data, err := got()
	if err != nil {
		r.t.Error("the peer:", err)
	}
	r.same("at the peer", data, writes[0].buf[:writes[0].result.Size])
}

// connCloseAtOnce: a write that was submitted before Close is tried before it.
func connCloseAtOnce(r *rig) {
	for range 10 {
		conn, peer := r.pair()
		k := r.write(conn, []byte("bye"))
		got := sink(peer)
		if err := conn.Close(); err != nil {
			r.t.Error(err)
		}
		r.until(k)
		data, err := got()
		if err != nil {
			r.t.Error("the peer:", err)
		}
		r.same("at the peer", data, k.buf[:k.result.Size])
		if !r.sys.Faulty {
			r.want(k, 3, nil)
		}
	}
}

// connCloseBehindMany: all that was submitted before Close is tried before it, and not only the first of each
// direction. A read that has to wait keeps no write back.
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
		r.until(append(writes, reads...)...)
		for _, k := range writes {
			r.want(k, 10, nil)
		}
		r.wantData(reads[0], []byte("a"))
		r.wantData(reads[1], []byte("bc"))
		r.want(reads[2], 0, aio.ErrClosed)
		data, err := got()
		if err != nil {
			r.t.Error("the peer:", err)
		}
		r.same("at the peer", data, all)
	}
}

// connCloseAtOnceWhenFull: so it is on a connection whose read waits for room in the swap buffer.
func connCloseAtOnceWhenFull(r *rig) {
	const size = 8
	r.open(aio.Options{SwapSize: size})
	var reads []*ticket
	for i := range 2 {
		conn, peer := r.pair()
		r.send(peer, pattern(i, 0, 4*size))
		reads = append(reads, r.readSwap(conn))
	}
	if _, err := r.wait(); err != nil {
		r.t.Fatal(err)
	}
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

// connCloseTwice: the second Close does nothing, and delivers nothing.
func connCloseTwice(r *rig) {
	conn, _ := r.pair()
	k := r.read(conn, 1)
	for range 3 {
		if err := conn.Close(); err != nil {
			r.t.Error(err)
		}
	}
	r.until(k)
	r.want(k, 0, aio.ErrClosed)
	if err := conn.Close(); err != nil {
		r.t.Error(err)
	}
	r.idle(soon)
}

// connCloseWhileWaiting: a WaitIO that waits returns what Close of a connection has ended.
func connCloseWhileWaiting(r *rig) {
	conn, peer := r.pair()
	k := r.read(conn, 1)
	got := sink(peer)
	freed, waits := make(chan error), r.waits()
	go func() {
		waits()
		freed <- conn.Close()
	}()
	r.until(k)
	r.want(k, 0, aio.ErrClosed)
	if err := <-freed; err != nil {
		r.t.Error(err)
	}
	if data, err := got(); len(data) > 0 || err != nil {
		r.t.Errorf("the peer: %q, %v; want its end", data, err)
	}
}

// closed checks what a closed Watcher says.
func (r *rig) closed(conn *aio.Conn) {
	r.t.Helper()
	if err := r.w.Close(); err != nil {
		r.t.Error("the second Close:", err)
	}
	if err := r.w.Shutdown(context.Background()); err != nil {
		r.t.Error("Shutdown after Close:", err)
	}
	for _, k := range []ticket{{conn: conn, buf: []byte{1}}, {conn: conn, op: aio.OpWrite, buf: []byte{1}}, {op: aio.OpPost}} {
		if _, err := r.submit(k); err != aio.ErrWatcherClosed {
			r.t.Errorf("%v: %v, want ErrWatcherClosed", k.op, err)
		}
	}
	if err := conn.Close(); err != nil {
		r.t.Errorf("Close of a connection: %v", err)
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

// closePending: Close ends all, WaitIO returns it, and then says that the watcher is closed.
func closePending(r *rig) {
	conn, peer, reads, writes := r.busy()
	idle, idlePeer := r.pair()
	k := r.read(idle, 1)
	got := sink(peer)
	if err := r.w.Close(); err != nil {
		r.t.Error(err)
	}
	r.drain()
	r.wantCut(reads, writes, aio.ErrWatcherClosed)
	r.want(k, 0, aio.ErrWatcherClosed)
	data, err := got()
	if err != nil {
		r.t.Error("the peer:", err)
	}
	r.same("at the peer", data, writes[0].buf[:writes[0].result.Size])
	if data, err := io.ReadAll(idlePeer); len(data) > 0 || err != nil {
		r.t.Errorf("the idle peer: %q, %v; want its end", data, err)
	}
	r.closed(conn)
}

// closeBeforeWaitIO: what was submitted and never begun comes, too.
func closeBeforeWaitIO(r *rig) {
	conn, _ := r.pair()
	other, _ := r.pair()
	ks := []*ticket{r.read(conn, 1), r.readSwap(conn), r.read(other, 1)}
	_ = r.w.Close()
	r.drain()
	for _, k := range ks {
		r.want(k, 0, aio.ErrWatcherClosed)
	}
	r.closed(conn)
}

// closeWhileWaiting: a WaitIO that waits returns what Close has ended.
func closeWhileWaiting(r *rig) {
	conn, _ := r.pair()
	k := r.read(conn, 1)
	done, waits := make(chan error), r.waits()
	go func() {
		waits()
		done <- r.w.Close()
	}()
	r.drain()
	r.want(k, 0, aio.ErrWatcherClosed)
	if err := <-done; err != nil {
		r.t.Error(err)
	}
	r.closed(conn)
}

// closeIdleWhileWaiting: a WaitIO that has nothing to wait for ends with Close.
func closeIdleWhileWaiting(r *rig) {
	done, waits := make(chan error), r.waits()
	go func() {
		waits()
		done <- r.w.Close()
	}()
	r.drain()
	if err := <-done; err != nil {
		r.t.Error(err)
	}
}
