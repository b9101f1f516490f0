package aiosuite

import (
	"io"
	"math/rand/v2"
	"time"

	"evenkeel.dev/aio"
)

// pastDeadline: an operation is tried even if its deadline has passed, and the connection stays
// usable.
func pastDeadline(r *rig) {
	past := time.Now().Add(-time.Hour)
	conn, peer := r.pair()
	for _, buf := range [][]byte{nil, make([]byte, 10)} {
		r.ends(r.must(ticket{conn: conn, buf: buf, deadline: past}), 0, aio.ErrDeadline)
		r.sendThere(conn, peer, []byte("abc"))
		k := r.must(ticket{conn: conn, buf: buf, deadline: past})
		r.until(k)
		if !r.sys.Faulty {
			r.wantData(k, []byte("abc"))
			continue
		}
		for n := k.result.Size; n < 3; n += k.result.Size {
			k = r.read(conn, 10)
			r.until(k)
		}
	}
	k := r.must(ticket{op: aio.OpWrite, conn: conn, buf: []byte("abc"), deadline: past})
	r.until(k)
	if !r.sys.Faulty {
		r.want(k, 3, nil)
	}
	sent := make([]byte, k.result.Size)
	_, _ = io.ReadFull(peer, sent)
	r.same("at the peer", sent, k.buf[:len(sent)])
	r.works(conn, peer)
}

// pastDeadlineOfMany: this holds for more operations than one WaitIO ends, next to one that is over
// at once.
func pastDeadlineOfMany(r *rig) {
	past := time.Now().Add(-time.Hour)
	conns := make([]*aio.Conn, 264)
	for i := range conns {
		conns[i] = r.pairWith([]byte("abc"))
	}
	r.must(ticket{op: aio.OpPost})
	var ks []*ticket
	for _, conn := range conns {
		ks = append(ks, r.must(ticket{conn: conn, buf: make([]byte, 3), deadline: past}))
	}
	r.until(ks...)
	for _, k := range ks {
		if !r.sys.Faulty {
			r.wantData(k, []byte("abc"))
		}
	}
}

// deadlineInTheMiddle: an operation leaves the queue at its deadline, wherever it is in it.
func deadlineInTheMiddle(r *rig) {
	conn, peer := r.pair()
	timed := func(by time.Duration) *ticket {
		return r.must(ticket{conn: conn, buf: make([]byte, 1), deadline: time.Now().Add(by)})
	}
	var stay, leave []*ticket
	for range 3 {
		stay, leave = append(stay, r.read(conn, 1)), append(leave, timed(soon))
	}
	r.allEnd(aio.ErrDeadline, leave...)
	r.wantPending(stay...)
	r.send(peer, []byte("abc"))
	for i, k := range stay {
		r.brings(k, []byte("abc")[i:i+1])
	}
	head, next, tail := timed(soon), r.read(conn, 1), timed(2*soon)
	r.allEnd(aio.ErrDeadline, head, tail)
	after := r.read(conn, 1)
	r.send(peer, []byte("de"))
	r.brings(next, []byte("d"))
	r.brings(after, []byte("e"))
}

// manyDeadlines: no operation ends before its deadline, in whatever order they are submitted.
func manyDeadlines(r *rig) {
	rng := rand.New(rand.NewPCG(3, 3))
	start := time.Now()
	for i := range 100 {
		conn, _ := r.pair()
		by := start.Add(upTo(rng, 2*soon))
		if i%2 == 0 {
			by = by.Round(0) // no monotonic reading
		}
		r.must(ticket{conn: conn, buf: make([]byte, 1), deadline: by})
	}
	for left := 100; left > 0; {
		results, now := r.results(), time.Now()
		left -= len(results)
		for _, res := range results {
			k := res.Tag.(*ticket)
			r.want(k, 0, aio.ErrDeadline)
			if late := now.Sub(k.deadline); late < 0 || r.sys.Bubble && late > 3*time.Millisecond { // a fault's delay
				r.t.Errorf("operation %d ended %v after its deadline", k.number, late)
			}
		}
	}
}

// fullUntilDeadline: Size has what a ReadFull has read, and no other read gets it again.
func fullUntilDeadline(r *rig) {
	conn, peer := r.pair()
	data := pattern(6, 0, 30)
	r.sendThere(conn, peer, data[:10])
	k := r.readFull(conn, 20, time.Now().Add(soon))
	r.ends(k, 10, aio.ErrDeadline)
	r.same("before the deadline", k.data, data[:10])
	r.send(peer, data[10:])
	r.brings(r.readFull(conn, 20, time.Now().Add(time.Hour)), data[10:])
}

// fullUntilEnd: Size has it at the peer's end, too.
func fullUntilEnd(r *rig) {
	conn, peer := r.pair()
	data := pattern(7, 0, 10)
	k := r.readFull(conn, 20, time.Time{})
	r.send(peer, data[:4])
	r.idle(soon)
	r.wantPending(k)
	r.send(peer, data[4:])
	_ = closeWrite(peer)
	r.ends(k, 10, io.EOF)
	r.same("before the end", k.data, data)
	r.ends(r.readFull(conn, 20, time.Time{}), 0, io.EOF)
}
