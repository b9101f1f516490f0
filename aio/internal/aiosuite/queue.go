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
	source(peer, pattern(1, 0, in))
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

// maxQueuedOfWrites: a peer that does not read fills the queue of writes, up to its limit.
func maxQueuedOfWrites(r *rig) {
	r.open(aio.Options{MaxQueued: 8})
	conn, peer := r.pair()
	var sent []byte
	var writes []*ticket
	for {
		k := r.write(conn, pattern(3, len(sent), r.large/8))
		r.idle(time.Millisecond)
		if r.times(k) > 0 && k.result.Error == aio.ErrQueueFull {
			break
		}
		writes, sent = append(writes, k), append(sent, k.buf...)
		if len(writes) > 50 {
			r.t.Fatalf("%d writes of %d bytes, and the queue is not full", len(writes), r.large/8)
		}
	}
	got := sink(peer)
	r.allSent(writes...)
	_ = conn.Close()
	r.delivered(got, sent)
}

// backPressure: while no read is pending, the peer's writes wait.
func backPressure(r *rig) {
	conn, peer := r.pair()
	first := r.read(conn, 1)
	done := make(chan int, 1)
	all := pattern(5, 0, 2*r.large)
	go func() {
		n, _ := peer.Write(all)
		_ = closeWrite(peer)
		done <- n
	}()
	r.until(first)
	r.idle(soon)
	select {
	case n := <-done:
		r.t.Fatalf("the peer could write all %d bytes, and one was read", n)
	default:
	}
	data, _ := r.readAll(conn)
	<-done
	r.same("read in the end", append(first.data, data...), all)
}

// copied is one connection of perfectCopy.
type copied struct {
	conn      *aio.Conn
	read      *ticket
	writes    []*ticket
	got       []byte
	out       int
	delivered func() ([]byte, error)
}

// perfectCopy: several connections transfer in both directions at once, with buffers of all sizes.
func perfectCopy(r *rig) {
	const conns, total = 4, 48 << 10
	rng := rand.New(rand.NewPCG(2, 2))
	streams := make([]*copied, conns)
	for i := range streams {
		conn, peer := r.pair()
		streams[i] = &copied{conn: conn, delivered: sink(peer)}
		streams[i].read = r.read(conn, 1)
		source(peer, pattern(10+i, 0, total))
	}
	for left := conns; left > 0; {
		for i, s := range streams {
			if s.read == nil || r.times(s.read) == 0 {
				continue
			}
			s.got = append(s.got, s.read.data...)
			if s.read.result.Error != nil {
				s.read = nil
				left--
				continue
			}
			s.read = r.read(s.conn, 1+rng.IntN(4000))
			if n := min(1+rng.IntN(8000), total-s.out); n > 0 {
				s.writes = append(s.writes, r.write(s.conn, pattern(20+i, s.out, n)))
				s.out += n
			}
		}
		if left > 0 {
			r.results()
		}
	}
	for i, s := range streams {
		r.same("read", s.got, pattern(10+i, 0, total))
		r.allSent(s.writes...)
		_ = s.conn.Close()
		r.delivered(s.delivered, pattern(20+i, 0, s.out))
	}
}
