package aiosuite

import (
	"math/rand/v2"
	"time"

	"evenkeel.dev/aio"
)

// fifo: operations of a direction end in the order of their submission, each with its part.
func fifo(r *rig) {
	conn, peer := r.pair()
	rng := rand.New(rand.NewPCG(1, 1))
	var reads, writes []*ticket
	in, out := 0, 0
	for range 200 {
		n := 1 + rng.IntN(500)
		reads = append(reads, r.readFull(conn, n, time.Time{}))
		in += n
		n = 1 + rng.IntN(500)
		writes = append(writes, r.write(conn, pattern(2, out, n)))
		out += n
	}
	go func() { _, _ = peer.Write(pattern(1, 0, in)) }()
	got := sink(peer)
	at := 0
	for _, k := range reads {
		r.brings(k, pattern(1, at, len(k.buf)))
		at += len(k.buf)
	}
	r.allSent(writes...)
	Must(r.t, conn.Close())
	r.delivered(got, pattern(2, 0, out))
}

// maxQueued: the Watcher refuses one operation more than MaxQueued, until one was returned.
func maxQueued(r *rig) {
	const limit = 4
	r.open(aio.Options{MaxQueued: limit})
	conn, peer := r.pair()
	other, _ := r.pair()
	var ks []*ticket
	for range limit {
		ks = append(ks, r.read(conn, 1))
	}
	refused := func() {
		r.t.Helper()
		r.refuse(aio.ErrQueueFull,
			ticket{conn: conn, buf: make([]byte, 1)}, ticket{conn: conn},
			ticket{conn: conn, op: aio.OpWrite, buf: []byte{1}})
	}
	refused()
	pending := r.read(other, 1) // another connection has a limit of its own
	r.idle(soon)
	refused()
	for i := range byte(10) {
		r.send(peer, []byte{i})
		r.brings(ks[0], []byte{i})
		ks = append(ks[1:], r.read(conn, 1))
		refused()
	}
	r.wantPending(append(ks, pending)...)
}
