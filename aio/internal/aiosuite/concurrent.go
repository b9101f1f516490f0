package aiosuite

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"evenkeel.dev/aio"
)

// wakes: a WaitIO that waits returns what another goroutine begins, ends, or gives an earlier
// deadline.
func wakes(r *rig) {
	submit := func(k ticket) *ticket {
		got, err := r.submit(k)
		if err != nil {
			r.t.Error(err)
			_ = r.w.Close() // so that WaitIO returns
		}
		return got
	}
	for what, act := range map[string]struct {
		do  func(pending *ticket) *ticket // returns the operation that is over soon
		err error
	}{
		"Write": {func(k *ticket) *ticket {
			return submit(ticket{op: aio.OpWrite, conn: k.conn, buf: []byte("x")})
		}, nil},
		"Post":             {func(*ticket) *ticket { return submit(ticket{op: aio.OpPost}) }, nil},
		"CloseAfterWrites": {func(k *ticket) *ticket { return submit(ticket{op: aio.OpClose, conn: k.conn}) }, nil},
		"CloseAfterWrites, late": {func(k *ticket) *ticket {
			return submit(ticket{op: aio.OpClose, conn: k.conn, deadline: time.Now().Add(-time.Hour)})
		}, nil},
		"earlier deadline": {func(k *ticket) *ticket {
			return submit(ticket{conn: k.conn, buf: make([]byte, 1), deadline: time.Now().Add(soon)})
		}, aio.ErrDeadline},
		"SetDeadline": {func(k *ticket) *ticket {
			r.wantFound(r.moved(k, time.Now().Add(soon)), 1)
			return k
		}, aio.ErrDeadline},
		"Cancel": {func(k *ticket) *ticket { r.wantFound(r.cancelled(k), 1); return k }, aio.ErrCancelled},
		"Close":  {func(k *ticket) *ticket { _ = k.conn.Close(); return k }, aio.ErrClosed},
	} {
		for range 5 {
			conn, _ := r.pair()
			pending := r.must(ticket{conn: conn, buf: make([]byte, 1), deadline: time.Now().Add(time.Hour)})
			var k *ticket
			done := r.whileWaiting(func() { k = act.do(pending) })
			r.results()
			done()
			r.until(k)
			if k.result.Error != act.err {
				r.t.Errorf("%s: %v, want %v", what, k.result.Error, act.err)
			}
			_ = conn.Close()
			r.until(pending)
		}
	}
}

// submissionBeforeWaiting: WaitIO begins what another goroutine submits at any moment before it
// waits.
func submissionBeforeWaiting(r *rig) {
	const rounds = 30 // up to 10 ms each, as it spins: the runtime looks for events then
	w := r.w
	var returned, spin atomic.Int32
	var failed atomic.Bool
	ended := make(chan struct{})
	rng := rand.New(rand.NewPCG(1, 6))
	go func() {
		defer close(ended)
		for i := range int32(rounds) {
			// It does not block until WaitIO returns, which would be waiting again by then.
			for spins := 0; returned.Load() < i && !failed.Load(); spins++ {
				if spins > 1000 {
					runtime.Gosched()
				}
			}
			for range rng.IntN(300) { // some moments later
				spin.Add(1)
			}
			_ = w.Post(nil)
		}
	}()
	watchdog := time.AfterFunc(stuck, func() {
		r.t.Errorf("WaitIO has returned nothing for %v: a submission is lost", stuck)
		failed.Store(true)
		_ = w.Close()
	})
	defer watchdog.Stop()
	for range rounds {
		if _, err := w.WaitIO(); err != nil {
			break
		}
		returned.Add(1)
	}
	<-ended
	r.open(aio.Options{}) // for the ledger, which has none of these
}

// concurrentWaitIO: while one goroutine is in WaitIO, others get ErrWaiting and take no result of
// it.
func concurrentWaitIO(r *rig) {
	conn, peer := r.pair()
	for i := range byte(5) {
		k := r.readSwap(conn)
		done := r.whileWaiting(func() {
			for range 3 {
				if results, err := r.w.WaitIO(); results != nil || err != aio.ErrWaiting {
					r.t.Errorf("a second WaitIO: %v, %v; want ErrWaiting", results, err)
				}
			}
			_, _ = peer.Write([]byte{i})
		})
		r.results()
		done()
		r.wantData(k, []byte{i})
	}
}

// posts: a Post is over at once, whatever is pending, in the order of the submissions. The Watcher
// refuses one more than MaxQueued, until they were returned.
func posts(r *rig) {
	const limit = 4
	r.open(aio.Options{MaxQueued: limit})
	conn, _ := r.pair()
	pending := r.read(conn, 1)
	for range 3 {
		var ks []*ticket
		for range limit {
			ks = append(ks, r.must(ticket{op: aio.OpPost}))
		}
		ks = append(ks, r.write(conn, []byte("x")))
		r.refuse(aio.ErrQueueFull, ticket{op: aio.OpPost})
		r.until(ks...)
	}
	r.wantPending(pending)
}
