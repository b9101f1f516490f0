package aiosuite

import (
	"io"
	"math/rand/v2"
	"net"
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

var writevTests = []test{
	{"Writev", writev, false},
	{"WritevOfMany", writevOfMany, false},
	{"WritevInParts", writevInParts, false},
	{"WritevUntilDeadline", writevUntilDeadline, false},
	{"WritevCancelled", writevCancelled, false},
	{"WritevRefused", writevRefused, false},
	{"WritevToNobody", writevToNobody, false},
	{"WritevClosed", writevClosed, false},
}

// writev: one operation among others, of buffers of all sizes, empty ones too.
func writev(r *rig) {
	conn, peer := r.pair()
	rng := rand.New(rand.NewPCG(4, 4))
	got := sink(peer)
	var ks []*ticket
	var all []byte
	for i := range 50 {
		buf := pattern(1, len(all), 1+rng.IntN(3000))
		all = append(all, buf...)
		if i%3 == 0 {
			ks = append(ks, r.write(conn, buf))
		} else {
			ks = append(ks, r.writev(conn, buf, 0, 1, 0, 1+rng.IntN(100)))
		}
	}
	r.until(ks...)
	for _, k := range ks {
		r.want(k, len(k.buf), nil)
	}
	_ = conn.Close()
	data, _ := got()
	r.same("at the peer", data, all)
}

// writevOfMany: more buffers than the kernel takes at once.
func writevOfMany(r *rig) {
	conn, peer := r.pair()
	for _, n := range []int{1024, 1025, 5000} {
		all := pattern(2, 0, n)
		k, got := r.writev(conn, all, 1), make(chan []byte)
		go func() {
			buf := make([]byte, n)
			_, _ = io.ReadFull(peer, buf)
			got <- buf
		}()
		r.until(k)
		r.want(k, n, nil)
		r.same("at the peer", <-got, all)
	}
}

// writevInParts: what the peer has no room for goes on where it stopped.
func writevInParts(r *rig) {
	for _, size := range []int{700, 64 << 10} {
		conn, peer := r.pair()
		all := pattern(3, 0, r.large+7)
		k, next := r.writev(conn, all[:r.large], 1, size), r.writev(conn, all[r.large:], 3)
		r.idle(soon)
		r.wantPending(k, next)
		got := sink(peer)
		r.until(k, next)
		r.want(k, r.large, nil)
		r.want(next, 7, nil)
		_ = conn.Close()
		data, _ := got()
		r.same("at the peer", data, all)
	}
}

// writevUntilDeadline: Size says how far it came.
func writevUntilDeadline(r *rig) {
	conn, peer := r.pair()
	all := pattern(4, 0, r.large)
	k := r.must(ticket{op: aio.OpWrite, conn: conn, buf: all, vec: cut(all, 999), deadline: time.Now().Add(soon)})
	r.until(k)
	r.restAfter(conn, peer, k, aio.ErrDeadline)
}

// restAfter checks a write that ended before its time, and has a Writev send the rest.
func (r *rig) restAfter(conn *aio.Conn, peer net.Conn, k *ticket, err error) {
	r.t.Helper()
	sent := k.result.Size
	if sent == 0 || sent == len(k.buf) || k.result.Error != err {
		r.t.Fatalf("a Writev to a peer that does not read: %d of %d bytes, %v; want a part and %v", sent, len(k.buf),
			k.result.Error, err)
	}
	got := sink(peer)
	rest := r.writev(conn, k.buf[sent:], 777)
	r.until(rest)
	r.want(rest, len(k.buf)-sent, nil)
	_ = conn.Close()
	data, _ := got()
	r.same("at the peer", data, k.buf)
}

// writevCancelled: so it does when it is cancelled by its tag.
func writevCancelled(r *rig) {
	conn, peer := r.pair()
	k := r.writev(conn, pattern(4, 0, r.large), 999)
	r.idle(soon)
	r.wantFound(r.moved(k, time.Now().Add(time.Hour)), 1)
	r.wantFound(r.cancelled(k), 1)
	r.until(k)
	r.restAfter(conn, peer, k, aio.ErrCancelled)
}

// writevRefused: nothing to write, and a connection that is none.
func writevRefused(r *rig) {
	conn, _ := r.pair()
	for _, vec := range [][][]byte{{}, {nil}, {{}, {}}} {
		r.refuse(aio.ErrEmptyBuffer, ticket{op: aio.OpWrite, conn: conn, vec: vec})
	}
	if err := new(aio.Conn).Writev(nil, [][]byte{{1}}, time.Time{}); err != aio.ErrClosed {
		r.t.Errorf("Writev to a zero Conn: %v, want ErrClosed", err)
	}
	_ = conn.Close()
	r.refuse(aio.ErrClosed, ticket{op: aio.OpWrite, conn: conn, buf: []byte{1}, vec: [][]byte{{1}}})
}

// writevToNobody: a peer that is gone refuses it.
func writevToNobody(r *rig) {
	conn, peer := r.pair()
	k := r.writev(conn, pattern(5, 0, r.large), 100)
	r.idle(soon)
	_ = peer.Close()
	r.until(k)
	if err := k.result.Error; err != syscall.EPIPE && err != syscall.ECONNRESET {
		r.t.Errorf("%v, want EPIPE or ECONNRESET", err)
	}
}

// writevClosed: a Close returns what came of it.
func writevClosed(r *rig) {
	conn, peer := r.pair()
	k, next := r.writev(conn, pattern(6, 0, r.large), 1000), r.writev(conn, []byte("behind"), 1)
	r.idle(soon)
	got := sink(peer)
	_ = conn.Close()
	r.until(k, next)
	data, _ := got()
	if k.result.Error != aio.ErrClosed {
		r.t.Errorf("%v, want ErrClosed", k.result.Error)
	}
	r.want(next, 0, aio.ErrClosed)
	r.same("at the peer", data, k.buf[:k.result.Size])
}
