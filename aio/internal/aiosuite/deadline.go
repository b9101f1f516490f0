package aiosuite

import (
	"io"
	"math/rand/v2"
	"time"

	"evenkeel.dev/aio"
)

var deadlineTests = []test{
	{"PastDeadline", pastDeadline, false},
	{"PastDeadlineOfMany", pastDeadlineOfMany, false},
	{"DeadlineInTheMiddle", deadlineInTheMiddle, false},
	{"ManyDeadlines", manyDeadlines, false},
	{"ManyDeadlinesInAnyOrder", manyDeadlinesInAnyOrder, false},
	{"FullUntilDeadline", fullUntilDeadline, false},
	{"FullUntilEnd", fullUntilEnd, false},
	{"WriteUntilDeadline", writeUntilDeadline, false},
	{"EarlierDeadlineWhileWaiting", earlierDeadline, false},
}

// pastDeadline: an operation is tried even when it is late already.
func pastDeadline(r *rig) {
	past := time.Now().Add(-time.Hour)
	conn, peer := r.pair()
	for _, buf := range [][]byte{nil, make([]byte, 10)} {
		k := r.must(ticket{conn: conn, buf: buf, deadline: past})
		r.until(k)
		r.want(k, 0, aio.ErrDeadline)

		r.sendThere(conn, peer, []byte("abc"))
		k = r.must(ticket{conn: conn, buf: buf, deadline: past})
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
	// It stays usable.
	r.send(peer, []byte("x"))
	read := r.read(conn, 1)
	r.until(read)
	r.wantData(read, []byte("x"))
	write := r.write(conn, []byte("y"))
	r.until(write)
	r.want(write, 1, nil)
	rest := make([]byte, k.result.Size+1)
	_, _ = io.ReadFull(peer, rest)
	r.same("at the peer", rest, append([]byte("abc")[:k.result.Size], 'y'))
}

// pastDeadlineOfMany: so are more than a WaitIO ends, and beside something that is over at once.
func pastDeadlineOfMany(r *rig) {
	past := time.Now().Add(-time.Hour)
	var ks []*ticket
	conns := make([]*aio.Conn, 264)
	for i := range conns {
		conns[i] = r.pairWith([]byte("abc"))
	}
	r.must(ticket{op: aio.OpPost})
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

// deadlineInTheMiddle: an operation that has not had its turn yet leaves the queue.
func deadlineInTheMiddle(r *rig) {
	conn, peer := r.pair()
	by := time.Now().Add(soon)
	var ks []*ticket
	for i := range 6 {
		k := ticket{conn: conn, buf: make([]byte, 1)}
		if i%2 == 1 {
			k.deadline = by
		}
		ks = append(ks, r.must(k))
	}
	r.until(ks[1], ks[3], ks[5])
	for i := 1; i < 6; i += 2 {
		r.want(ks[i], 0, aio.ErrDeadline)
	}
	r.wantPending(ks[0], ks[2], ks[4])
	r.send(peer, []byte("abc"))
	r.until(ks[0], ks[2], ks[4])
	r.wantData(ks[0], []byte("a"))
	r.wantData(ks[2], []byte("b"))
	r.wantData(ks[4], []byte("c"))
	// At the head: the next takes its turn.
	head := r.must(ticket{conn: conn, buf: make([]byte, 1), deadline: time.Now().Add(soon)})
	next := r.read(conn, 1)
	last := r.must(ticket{conn: conn, buf: make([]byte, 1), deadline: time.Now().Add(2 * soon)}) // the tail
	r.until(head, last)
	r.want(head, 0, aio.ErrDeadline)
	r.want(last, 0, aio.ErrDeadline)
	after := r.read(conn, 1)
	r.send(peer, []byte("de"))
	r.until(next, after)
	r.wantData(next, []byte("d"))
	r.wantData(after, []byte("e"))
}

// manyDeadlines: none is early, whatever the order of their submission.
func manyDeadlines(r *rig) {
	rng := rand.New(rand.NewPCG(3, 3))
	start := time.Now()
	for range 10 {
		conn, _ := r.pair()
		for range 10 {
			r.must(ticket{conn: conn, buf: make([]byte, 1), deadline: start.Add(upTo(rng, 2*soon))})
		}
	}
	for left := 100; left > 0; {
		results, err := r.wait()
		if err != nil {
			r.t.Fatal(err)
		}
		now := time.Now()
		left -= len(results)
		for _, res := range results {
			k := res.Tag.(*ticket)
			r.want(k, 0, aio.ErrDeadline)
			if now.Before(k.deadline) {
				r.t.Errorf("operation %d ended %v before its deadline", k.number, k.deadline.Sub(now))
			}
			if r.sys.Bubble && now.Sub(k.deadline) > 3*time.Millisecond { // delayed at most
				r.t.Errorf("operation %d ended %v after its deadline", k.number, now.Sub(k.deadline))
			}
		}
	}
}

// manyDeadlinesInAnyOrder: long queues of operations, all late at once, leave in whatever order,
// some hundred in a WaitIO.
func manyDeadlinesInAnyOrder(r *rig) {
	const conns, each, most = 4, 500, 500
	rng := rand.New(rand.NewPCG(3, 4))
	for _, at := range []func(i int) int{
		func(i int) int { return i },
		func(i int) int { return each - i },
		func(int) int { return rng.IntN(each) },
	} {
		start := time.Now().Add(soon)
		var ks []*ticket
		for range conns {
			conn, _ := r.pair()
			for i := range each {
				by := start.Add(time.Duration(at(i)) * time.Microsecond)
				if i%2 == 0 {
					by = by.Round(0) // no monotonic reading
				}
				ks = append(ks, r.must(ticket{conn: conn, buf: make([]byte, 1), deadline: by}))
			}
		}
		time.Sleep(time.Until(start.Add(each * time.Microsecond))) // nobody waits meanwhile
		for left := len(ks); left > 0; {
			results, err := r.wait()
			if err != nil {
				r.t.Fatal(err)
			}
			if left -= len(results); len(results) > most {
				r.t.Errorf("%d operations ended at their deadline in one WaitIO, want %d at most", len(results), most)
			}
		}
		for _, k := range ks {
			r.want(k, 0, aio.ErrDeadline)
		}
	}
}

// fullUntilDeadline: what a ReadFull has read is in its size, and not read again.
func fullUntilDeadline(r *rig) {
	conn, peer := r.pair()
	data := pattern(6, 0, 30)
	r.sendThere(conn, peer, data[:10])
	k := r.readFull(conn, 20, time.Now().Add(soon))
	r.until(k)
	r.want(k, 10, aio.ErrDeadline)
	r.same("before the deadline", k.data, data[:10])
	r.send(peer, data[10:])
	k = r.readFull(conn, 20, time.Now().Add(time.Hour))
	r.until(k)
	r.wantData(k, data[10:])
}

// fullUntilEnd: so it is at the peer's end.
func fullUntilEnd(r *rig) {
	conn, peer := r.pair()
	data := pattern(7, 0, 10)
	k := r.readFull(conn, 20, time.Time{})
	r.send(peer, data[:4])
	r.idle(soon)
	r.wantPending(k)
	r.send(peer, data[4:])
	_ = closeWrite(peer)
	r.until(k)
	r.want(k, 10, io.EOF)
	r.same("before the end", k.data, data)
	k = r.readFull(conn, 20, time.Time{})
	r.until(k)
	r.want(k, 0, io.EOF)
}

// writeUntilDeadline: what a write has sent is in its size; the next one continues there.
func writeUntilDeadline(r *rig) {
	conn, peer := r.pair()
	all := pattern(8, 0, r.large)
	k := r.must(ticket{op: aio.OpWrite, conn: conn, buf: all, deadline: time.Now().Add(soon)})
	r.until(k)
	sent := k.result.Size
	if sent == 0 || sent == len(all) || k.result.Error != aio.ErrDeadline {
		r.t.Fatalf("a write to a peer that does not read: %d of %d bytes, %v; want a part and ErrDeadline", sent,
			len(all), k.result.Error)
	}
	got := sink(peer)
	rest := r.write(conn, all[sent:])
	r.until(rest)
	r.want(rest, len(all)-sent, nil)
	_ = conn.Close()
	data, _ := got()
	r.same("at the peer", data, all)
}

// earlierDeadline: a waiting WaitIO hears of a deadline that is earlier than the one it waits for.
func earlierDeadline(r *rig) {
	a, _ := r.pair()
	b, _ := r.pair()
	late := r.must(ticket{conn: a, buf: make([]byte, 1), deadline: time.Now().Add(time.Hour)})
	done, waits := make(chan struct{}), r.waits()
	var early *ticket
	go func() {
		defer close(done)
		waits()
		early, _ = r.submit(ticket{conn: b, buf: make([]byte, 1), deadline: time.Now().Add(soon)})
	}()
	_, err := r.wait()
	<-done
	if err != nil || early == nil {
		r.t.Fatal("WaitIO:", err)
	}
	r.want(early, 0, aio.ErrDeadline)
	r.wantPending(late)
}
