package aiosuite

import (
	"context"
	"errors"
	"io"

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
	again := make(chan error)
	go func() { again <- r.w.Shutdown(context.Background()) }()
	r.wantPending(writes...)
	got := sink(peer)
	r.until(writes...)
	for _, k := range writes {
		r.want(k, len(k.buf), nil)
	}
	r.drain()
	if err := errors.Join(<-done, <-again); err != nil {
		r.t.Error("Shutdown, twice:", err)
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
}

// shutdownWhileWaiting: it wakes a WaitIO that waits for reads only.
func shutdownWhileWaiting(r *rig) {
	conn, _ := r.pair()
	ks := []*ticket{r.read(conn, 1), r.readSwap(conn)}
	done, waits := make(chan error), r.waits()
	go func() {
		waits()
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
