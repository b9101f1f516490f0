package aiosuite

import (
	"math/rand/v2"
	"time"

	"evenkeel.dev/aio"
)

var queueTests = []test{
	{"FIFO", fifo, false},
	{"MaxQueued", maxQueued, false},
	{"MaxQueuedOfWrites", maxQueuedOfWrites, false},
	{"SlowReader", slowReader, false},
	{"BackPressure", backPressure, false},
	{"PerfectCopy", perfectCopy, false},
}

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
	r.until(reads...)
	r.until(writes...)
	at := 0
	for _, k := range reads {
		r.wantData(k, pattern(1, at, len(k.buf)))
		at += len(k.buf)
	}
	if err := conn.Close(); err != nil {
		r.t.Error(err)
	}
	data, err := got()
	if err != nil {
		r.t.Error(err)
	}
	r.same("at the peer", data, pattern(2, 0, out))
}

// maxQueued: one operation more than MaxQueued is refused, until one was returned.
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
	pending := r.read(other, 1) // another connection's affair
	r.idle(soon)
	refused()
	for i := range byte(10) {
		r.send(peer, []byte{i})
		r.until(ks[0])
		r.wantData(ks[0], []byte{i})
		ks = append(ks[1:], r.read(conn, 1))
		refused()
	}
	r.wantPending(append(ks, pending)...)
}

// maxQueuedOfWrites: a peer that does not read makes the queue of writes full, not longer.
func maxQueuedOfWrites(r *rig) {
	r.open(aio.Options{MaxQueued: 8})
	conn, peer := r.pair()
	var sent []byte
	for {
		part := pattern(3, len(sent), r.large/8)
		k := r.write(conn, part)
		r.idle(time.Millisecond)
		if r.times(k) > 0 && k.result.Error == aio.ErrQueueFull {
			break
		}
		sent = append(sent, part...)
		if len(r.tickets) > 100 {
			r.t.Fatalf("%d writes of 128 KiB, and the queue is not full (%v)", len(r.tickets), k.result)
		}
	}
	got := sink(peer)
	for _, k := range r.tickets {
		if k.conn != conn {
			continue
		}
		if r.until(k); k.result.Error != aio.ErrQueueFull {
			r.want(k, r.large/8, nil)
		}
	}
	_ = conn.Close()
	data, _ := got()
	r.same("at the peer", data, sent)
}

// slowReader: a peer that does not read keeps its own write waiting, and no other.
func slowReader(r *rig) {
	slow, slowPeer := r.pair()
	quick, quickPeer := r.pair()
	all := pattern(4, 0, r.large)
	k := r.write(slow, all)
	for i := range 10 {
		ping := pattern(i, 0, 64)
		r.send(quickPeer, ping)
		read := r.readFull(quick, 64, time.Time{})
		r.until(read)
		r.wantData(read, ping)
	}
	r.wantPending(k)
	got := sink(slowPeer)
	r.until(k)
	r.want(k, len(all), nil)
	_ = slow.Close()
	data, _ := got()
	r.same("at the slow reader", data, all)
}

// backPressure: where nobody submits reads, the peer's writes wait.
func backPressure(r *rig) {
	conn, peer := r.pair()
	first := r.read(conn, 1)
	done := make(chan int)
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
	data := first.data
	for err := error(nil); err == nil; {
		k := r.read(conn, 256<<10)
		r.until(k)
		data, err = append(data, k.data...), k.result.Error
	}
	<-done
	r.same("read in the end", data, all)
}

// perfectCopy: several connections in both directions at once, with buffers of all sizes.
func perfectCopy(r *rig) {
	const conns, total = 4, 48 << 10
	rng := rand.New(rand.NewPCG(2, 2))
	type stream struct {
		conn      *aio.Conn
		read      *ticket
		writes    []*ticket
		got       []byte
		out       int
		delivered func() ([]byte, error)
	}
	streams := make([]*stream, conns)
	for i := range streams {
		conn, peer := r.pair()
		streams[i] = &stream{conn: conn, delivered: sink(peer)}
		source(peer, pattern(10+i, 0, total))
	}
	for left := conns; left > 0; {
		for i, s := range streams {
			if s.read != nil && r.times(s.read) == 0 {
				continue
			}
			if s.read != nil {
				s.got = append(s.got, s.read.data...)
				if s.read.result.Error != nil {
					if s.read.result.Size == 0 && s.conn != nil {
						left--
						s.conn = nil
					}
					continue
				}
			}
			s.read = r.read(s.conn, 1+rng.IntN(4000))
			if n := min(1+rng.IntN(8000), total-s.out); n > 0 {
				s.writes = append(s.writes, r.write(s.conn, pattern(20+i, s.out, n)))
				s.out += n
			}
		}
		if left > 0 {
			_, _ = r.wait()
		}
	}
	for i, s := range streams {
		r.same("read", s.got, pattern(10+i, 0, total))
		r.until(s.writes...)
		_ = s.read.conn.Close()
		data, _ := s.delivered()
		r.same("at the peer", data, pattern(20+i, 0, s.out))
	}
}
