package aiotest

import (
	"context"
	"io"
	"net"
	"runtime"
	"time"

	"evenkeel.dev/aio"
)

// shutdown: pending writes are delivered, pending reads end, and nothing new is taken.
func shutdown(r *rig) {
	conn, peer, reads, writes := r.busy()
	done := make(chan error)
	go func() { done <- r.w.Shutdown(context.Background()) }()
	r.until(reads...)
	r.want(reads[0], 10, aio.ErrWatcherClosed)
	for _, k := range reads[1:] {
		r.want(k, 0, aio.ErrWatcherClosed)
	}
	if _, err := r.submit(ticket{conn: conn, buf: []byte{1}, op: aio.OpWrite}); err != aio.ErrWatcherClosed {
		r.t.Errorf("a write while it shuts down: %v, want ErrWatcherClosed", err)
	}
	if err := r.w.Shutdown(context.Background()); err != aio.ErrWatcherClosed {
		r.t.Errorf("a second Shutdown: %v, want ErrWatcherClosed", err)
	}
	r.wantPending(writes...)
	got := sink(peer)
	r.until(writes...)
	for _, k := range writes {
		r.want(k, len(k.buf), nil)
	}
	r.drain()
	if err := <-done; err != nil {
		r.t.Error("Shutdown:", err)
	}
	data, err := got()
	if err != nil {
		r.t.Error("the peer:", err)
	}
	r.same("at the peer", data, append(pattern(2, 0, r.large), "behind"...))
	r.closed(conn)
}

// shutdownInTime: at the context's end what is not over is ended as by Close.
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

// shutdownIdle: with nothing pending, nobody has to be in WaitIO.
func shutdownIdle(r *rig) {
	conn, peer := r.pair()
	k := r.write(conn, []byte("x"))
	r.until(k)
	if err := r.w.Shutdown(context.Background()); err != nil {
		r.t.Error(err)
	}
	if data, err := io.ReadAll(peer); string(data) != "x" || err != nil {
		r.t.Errorf("the peer: %q, %v", data, err)
	}
	r.drain()
	r.closed(conn)
	if err := r.w.Shutdown(context.Background()); err != aio.ErrWatcherClosed {
		r.t.Errorf("Shutdown of a closed watcher: %v, want ErrWatcherClosed", err)
	}
}

// shutdownWhileParked: it wakes a WaitIO that waits for reads only.
func shutdownWhileParked(r *rig) {
	conn, _ := r.pair()
	ks := []*ticket{r.read(conn, 1), r.readSwap(conn)}
	done, parked := make(chan error), r.parked()
	go func() {
		parked()
		done <- r.w.Shutdown(context.Background())
	}()
	r.drain()
	if err := <-done; err != nil {
		r.t.Error(err)
	}
	for _, k := range ks {
		r.want(k, 0, aio.ErrWatcherClosed)
	}
}

// forgotten: the garbage collector closes connections and watchers that nobody has any more,
// but none that has an operation pending.
func forgotten(r *rig) {
	pending, pendingPeer := r.sys.Pair(r.t)
	k := r.read(pending, 1)
	kept := pendingPeer
	defer func() { _ = kept.Close() }()
	pending = nil

	ended := make(chan error, 3)
	ends := func(peer net.Conn) {
		_, err := io.ReadAll(peer)
		_ = peer.Close()
		ended <- err
	}
	// In functions of their own, so that no frame keeps them.
	func() {
		conn, peer := r.sys.Pair(r.t)
		w := r.write(conn, []byte("x"))
		r.until(w)
		r.tickets[w.number] = &ticket{number: w.number, op: aio.OpWrite, times: 1, result: aio.OpResult{Size: 1}}
		delete(r.last, queue{conn, aio.OpWrite})
		go ends(peer)
	}()
	func() {
		conn, peer := r.sys.Pair(r.t)
		if _, err := r.w.Attach(conn); err != nil {
			r.t.Error(err)
		}
		go ends(peer)
	}()
	func() {
		w := r.sys.New(r.t, aio.Options{})
		conn, peer := r.sys.Pair(r.t)
		if err := w.Read(nil, conn, nil); err != nil {
			r.t.Error(err)
		}
		go ends(peer)
	}()
	r.idle(soon) // and the results of before are no more
	for n, deadline := 0, time.Now().Add(stuck); n < 3; {
		runtime.GC()
		select {
		case err := <-ended:
			if err != nil {
				r.t.Error("the peer:", err)
			}
			n++
		case <-time.After(soon):
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%d of 3 were closed", n)
		}
	}
	if found, done := r.w.GetGC(); found != 2 || done != 2 {
		r.t.Errorf("GetGC: %d found, %d closed; want 2", found, done)
	}
	r.wantPending(k)
	r.send(pendingPeer, []byte("y"))
	r.until(k)
	r.wantData(k, []byte("y"))
}
