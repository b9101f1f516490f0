package aiotest

import (
	"io"
	"net"
	"time"

	"evenkeel.dev/aio"
)

var closeTests = []test{
	{"FreePending", freePending, false},
	{"FreeAtOnce", freeAtOnce, false},
	{"FreeTwice", freeTwice, false},
	{"FreeNeverDelegated", freeNeverDelegated, false},
	{"FreeWhileParked", freeWhileParked, false},
	{"ClosePending", closePending, false},
	{"CloseBeforeWaitIO", closeBeforeWaitIO, false},
	{"CloseWhileParked", closeWhileParked, false},
	{"CloseIdleWhileParked", closeIdleWhileParked, false},
	{"Shutdown", shutdown, false},
	{"ShutdownInTime", shutdownInTime, false},
	{"ShutdownIdle", shutdownIdle, false},
	{"ShutdownWhileParked", shutdownWhileParked, false},
	{"Forgotten", forgotten, true},
}

// busy has operations of all kinds wait on a connection, some of them half done.
func (r *rig) busy() (conn, peer net.Conn, reads, writes []*ticket) {
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

// freePending: Free returns what is pending with io.ErrClosedPipe, and how far it came.
func freePending(r *rig) {
	conn, peer, reads, writes := r.busy()
	got := sink(peer)
	if err := r.w.Free(conn); err != nil {
		r.t.Error(err)
	}
	if s := r.w.Stats(); s.Conns != 1 { // the clock of busy
		r.t.Errorf("after Free: %+v", s)
	}
	r.until(append(reads, writes...)...)
	r.wantCut(reads, writes, io.ErrClosedPipe)
	data, err := got()
	if err != nil {
		r.t.Error("the peer:", err)
	}
	r.same("at the peer", data, writes[0].buf[:writes[0].result.Size])
	k := r.read(conn, 1)
	r.until(k)
	r.want(k, 0, aio.ErrConnClosed)
}

// freeAtOnce: a write that was submitted before Free is tried before it.
func freeAtOnce(r *rig) {
	for range 10 {
		conn, peer := r.pair()
		k := r.write(conn, []byte("bye"))
		got := sink(peer)
		if err := r.w.Free(conn); err != nil {
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

// freeTwice: the second Free does nothing, and delivers nothing.
func freeTwice(r *rig) {
	conn, _ := r.pair()
	k := r.read(conn, 1)
	for range 3 {
		if err := r.w.Free(conn); err != nil {
			r.t.Error(err)
		}
	}
	r.until(k)
	r.want(k, 0, io.ErrClosedPipe)
	if err := r.w.Free(conn); err != nil {
		r.t.Error(err)
	}
	r.idle(soon)
}

// freeNeverDelegated: Free closes a connection that had no operation.
func freeNeverDelegated(r *rig) {
	conn, peer := r.pair()
	if err := r.w.Free(conn); err != nil {
		r.t.Error(err)
	}
	if data, err := io.ReadAll(peer); len(data) > 0 || err != nil {
		r.t.Errorf("the peer: %q, %v; want its end", data, err)
	}
	if err := r.w.Free(conn); err != nil {
		r.t.Error(err)
	}
}

// freeWhileParked: a WaitIO that waits returns what Free has ended.
func freeWhileParked(r *rig) {
	conn, peer := r.pair()
	k := r.read(conn, 1)
	got := sink(peer)
	freed, parked := make(chan error), r.parked()
	go func() {
		parked()
		freed <- r.w.Free(conn)
	}()
	r.until(k)
	r.want(k, 0, io.ErrClosedPipe)
	if err := <-freed; err != nil {
		r.t.Error(err)
	}
	if data, err := got(); len(data) > 0 || err != nil {
		r.t.Errorf("the peer: %q, %v; want its end", data, err)
	}
}

// closed checks what a closed Watcher says.
func (r *rig) closed(conn net.Conn) {
	r.t.Helper()
	if err := r.w.Close(); err != nil {
		r.t.Error("the second Close:", err)
	}
	fresh, _ := r.pair()
	for _, c := range []net.Conn{conn, fresh} {
		if _, err := r.submit(ticket{conn: c, buf: []byte{1}}); err != aio.ErrWatcherClosed {
			r.t.Errorf("Read: %v, want ErrWatcherClosed", err)
		}
		if _, err := r.w.Attach(c); err != aio.ErrWatcherClosed {
			r.t.Errorf("Attach: %v, want ErrWatcherClosed", err)
		}
		if err := r.w.Free(c); err != aio.ErrWatcherClosed {
			r.t.Errorf("Free: %v, want ErrWatcherClosed", err)
		}
	}
	for range 2 {
		if results, err := r.w.WaitIO(); len(results) > 0 || err != aio.ErrWatcherClosed {
			r.t.Errorf("WaitIO at the end: %v, %v", results, err)
		}
	}
	if err := r.w.SetLoopAffinity(0); err != aio.ErrWatcherClosed {
		r.t.Errorf("SetLoopAffinity: %v, want ErrWatcherClosed", err)
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
	handle, err := r.w.Attach(func() net.Conn { c, _ := r.pair(); return c }())
	if err != nil {
		r.t.Fatal(err)
	}
	ks := []*ticket{r.read(conn, 1), r.readSwap(conn), r.read(handle, 1)}
	_ = r.w.Close()
	r.drain()
	for _, k := range ks {
		r.want(k, 0, aio.ErrWatcherClosed)
	}
	r.closed(conn)
}

// closeWhileParked: a WaitIO that waits returns what Close has ended.
func closeWhileParked(r *rig) {
	conn, _ := r.pair()
	k := r.read(conn, 1)
	done, parked := make(chan error), r.parked()
	go func() {
		parked()
		done <- r.w.Close()
	}()
	r.drain()
	r.want(k, 0, aio.ErrWatcherClosed)
	if err := <-done; err != nil {
		r.t.Error(err)
	}
	r.closed(conn)
}

// closeIdleWhileParked: a WaitIO that has nothing to wait for ends with Close.
func closeIdleWhileParked(r *rig) {
	done, parked := make(chan error), r.parked()
	go func() {
		parked()
		done <- r.w.Close()
	}()
	r.drain()
	if err := <-done; err != nil {
		r.t.Error(err)
	}
}
