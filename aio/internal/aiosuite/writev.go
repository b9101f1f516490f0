package aiosuite

import (
	"io"
	"math/rand/v2"
	"time"

	"evenkeel.dev/aio"
)

// writeForms are the parts of a Write, which has none, and of a Writev.
var writeForms = [][]int{nil, {999}}

// writev: Writes and Writevs take turns. A Writev has buffers of all sizes, empty ones too.
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
			ks = append(ks, r.write(conn, buf, 0, 1, 0, 1+rng.IntN(100)))
		}
	}
	r.allSent(ks...)
	_ = conn.Close()
	r.delivered(got, all)
}

// writevOfMany: a Writev may have more buffers than the kernel takes at once.
func writevOfMany(r *rig) {
	conn, peer := r.pair()
	for _, n := range []int{1024, 1025, 5000} {
		all := pattern(2, 0, n)
		k, got := r.write(conn, all, 1), make(chan []byte)
		go func() {
			buf := make([]byte, n)
			_, _ = io.ReadFull(peer, buf)
			got <- buf
		}()
		r.allSent(k)
		r.same("at the peer", <-got, all)
	}
}

// writevInParts: a Writev that the peer has no room for continues where it stopped.
func writevInParts(r *rig) {
	for _, size := range []int{700, 64 << 10} {
		conn, peer := r.pair()
		all := pattern(3, 0, r.large+7)
		k, next := r.write(conn, all[:r.large], 1, size), r.write(conn, all[r.large:], 3)
		r.idle(soon)
		r.wantPending(k, next)
		got := sink(peer)
		r.allSent(k, next)
		_ = conn.Close()
		r.delivered(got, all)
	}
}

// writeCutShort: Size says how much a write has sent when its deadline passes or Cancel ends it.
// The next one continues there.
func writeCutShort(r *rig) {
	for _, parts := range writeForms {
		for _, want := range []error{aio.ErrDeadline, aio.ErrCancelled} {
			conn, peer := r.pair()
			all := pattern(8, 0, r.large)
			k := r.must(ticket{
				op: aio.OpWrite, conn: conn, buf: all, vec: cut(all, parts...), deadline: time.Now().Add(soon),
			})
			if want == aio.ErrCancelled {
				r.wantFound(r.moved(k, time.Now().Add(time.Hour)), 1)
				r.idle(soon)
				r.wantFound(r.cancelled(k), 1)
			}
			sent := r.cutShort(k, want)
			got := sink(peer)
			r.allSent(r.write(conn, all[len(sent):], parts...))
			_ = conn.Close()
			r.delivered(got, all)
		}
	}
}

// writevRefused: a Writev of nothing, and of a connection that is not open.
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

// writeToClosedPeer: a peer that has closed refuses a pending write, and in the end a new one.
func writeToClosedPeer(r *rig) {
	for _, parts := range writeForms {
		conn, peer := r.pair()
		k := r.write(conn, pattern(5, 0, r.large), parts...)
		r.idle(soon)
		_ = peer.Close()
		r.until(k)
		r.wantGone(k.result.Error)
	}
	for _, write := range []func(*aio.Conn) error{
		func(conn *aio.Conn) error {
			k := r.write(conn, []byte("x"))
			r.until(k)
			return k.result.Error
		},
		func(conn *aio.Conn) error {
			_, err := r.tryWrite(conn, []byte("x"))
			return err
		},
	} {
		conn, peer := r.pair()
		r.idle(time.Millisecond)
		_ = peer.Close()
		var err error
		for start := time.Now(); err == nil && time.Since(start) < stuck; r.idle(time.Millisecond) {
			err = write(conn) // the first ones are on their way before the refusal comes
		}
		r.wantGone(err)
	}
}
