package aiosuite

import (
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"evenkeel.dev/aio"
)

// cancelled is Conn.Cancel or Listener.Cancel of an operation.
func (r *rig) cancelled(k *ticket) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	cancel := k.conn.Cancel
	if k.listener != nil {
		cancel = k.listener.Cancel
	}
	n := cancel(k)
	k.cancelled = k.cancelled || n > 0
	return n
}

// moved is Conn.SetDeadline of an operation.
func (r *rig) moved(k *ticket, by time.Time) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := k.conn.SetDeadline(k, by)
	if n > 0 {
		k.deadline = by
	}
	return n
}

// wantFound checks how many operations Cancel or SetDeadline has found.
func (r *rig) wantFound(n, want int) {
	r.t.Helper()
	if n != want {
		r.t.Errorf("%d operations found, want %d", n, want)
	}
}

// cancel: an operation leaves the queue, wherever it is in it. The others keep their order.
func cancel(r *rig) {
	conn, peer := r.pair()
	var ks []*ticket
	for range 6 {
		ks = append(ks, r.read(conn, 1))
	}
	r.idle(soon)
	for _, i := range []int{3, 0, 5} { // in the middle, the head, the tail
		r.wantFound(r.cancelled(ks[i]), 1)
		r.wantFound(r.cancelled(ks[i]), 0)
		r.ends(ks[i], 0, aio.ErrCancelled)
		r.wantFound(r.cancelled(ks[i]), 0)
	}
	r.wantPending(ks[1], ks[2], ks[4])
	r.send(peer, []byte("abc"))
	for i, k := range []*ticket{ks[1], ks[2], ks[4]} {
		r.brings(k, []byte("abc")[i:i+1])
	}
	for _, tag := range []any{nil, "another's", []int{1}, struct{ any }{func() {}}} {
		r.wantFound(conn.Cancel(tag), 0)
		r.wantFound(conn.SetDeadline(tag, time.Now()), 0)
	}
	r.wantFound(new(aio.Conn).Cancel(nil), 0)
	r.wantFound(new(aio.Conn).SetDeadline(nil, time.Time{}), 0)
}

// cancelReads: a cancelled read returns what it has read, and a later one gets the rest.
func cancelReads(r *rig) {
	conn, peer := r.pair()
	swap, full := r.readSwap(conn), r.readFull(conn, 9, time.Time{})
	r.idle(soon)
	r.wantFound(r.cancelled(swap), 1)
	r.ends(swap, 0, aio.ErrCancelled)
	r.send(peer, []byte("half"))
	for range 3 { // in the bubble, faults delay the data up to 2 ms
		r.idle(soon)
	}
	r.wantFound(r.cancelled(full), 1)
	r.until(full)
	if full.result.Error != aio.ErrCancelled {
		r.t.Errorf("%v, want ErrCancelled", full.result.Error)
	}
	got := append([]byte(nil), full.data...)
	for len(got) < 4 {
		k := r.read(conn, 9)
		r.until(k)
		got = append(got, k.data...)
	}
	r.same("before and after it was cancelled", got, []byte("half"))
}

// cancelBeforeItBegins: an operation that WaitIO has not seen transfers nothing.
func cancelBeforeItBegins(r *rig) {
	conn, peer := r.pair()
	r.sendThere(conn, peer, []byte("a"))
	first, second := r.read(conn, 1), r.write(conn, []byte("x"))
	next, last := r.read(conn, 1), r.write(conn, []byte("y"))
	r.wantFound(r.cancelled(first), 1)
	r.wantFound(r.cancelled(second), 1)
	r.allEnd(aio.ErrCancelled, first, second)
	r.brings(next, []byte("a"))
	r.allSent(last)
	got := make([]byte, 1)
	_, _ = io.ReadFull(peer, got)
	r.same("at the peer", got, []byte("y"))
}

// cancelWhatIsOver: Cancel and SetDeadline do not find an operation that is over, before and after
// a Close.
func cancelWhatIsOver(r *rig) {
	conn, peer := r.pair()
	r.send(peer, []byte("a"))
	k, pending := r.read(conn, 1), r.read(conn, 1)
	r.until(k)
	r.wantFound(r.cancelled(k), 0)
	r.wantData(k, []byte("a"))
	_ = conn.Close()
	r.wantFound(r.cancelled(pending), 0)
	r.wantFound(r.moved(pending, time.Now()), 0)
	r.ends(pending, 0, aio.ErrClosed)
}

// cancelWrite: the write behind a cancelled one begins where that stopped. A pending read goes on.
func cancelWrite(r *rig) {
	conn, peer, writes, _ := r.blocked()
	read := r.read(conn, 1)
	r.idle(soon)
	r.wantFound(r.cancelled(writes[0]), 1)
	sent := r.cutShort(writes[0], aio.ErrCancelled)
	r.wantPending(writes[1], read)
	got := sink(peer)
	r.allSent(writes[1])
	_ = conn.Close()
	r.delivered(got, append(sent[:len(sent):len(sent)], writes[1].buf...))
}

// cancelRace: one goroutine cancels operations while their bytes arrive. Each is returned once, no
// byte is lost.
func cancelRace(r *rig) {
	const rounds = 300
	conn, peer := r.pair()
	sent := pattern(9, 0, rounds)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for i := range sent {
			_, _ = peer.Write(sent[i : i+1])
			if i%7 == 0 {
				time.Sleep(50 * time.Microsecond)
			}
		}
	})
	var got []byte
	for round := 0; len(got) < len(sent); round++ {
		k := ticket{conn: conn, buf: make([]byte, 3), full: round%3 == 0}
		if round%3 == 1 {
			k.buf = nil
		}
		one, done := r.must(k), make(chan bool)
		go func() {
			if round%2 == 0 {
				time.Sleep(10 * time.Microsecond)
			}
			r.cancelled(one)
			close(done)
		}()
		r.until(one)
		<-done
		got = append(got, one.data...)
		if err := one.result.Error; err != nil && err != aio.ErrCancelled {
			r.t.Fatal(err)
		}
	}
	r.same("read", got, sent)
}

// setDeadline moves deadlines forward and back, removes one, and moves one that WaitIO has not
// seen.
func setDeadline(r *rig) {
	conn, peer := r.pair()
	by := func(d time.Duration) time.Time { return time.Now().Add(d) }
	later := r.must(ticket{conn: conn, buf: make([]byte, 1), deadline: by(soon)})
	r.wantFound(r.moved(later, by(time.Hour)), 1)
	never := r.must(ticket{conn: conn, buf: make([]byte, 1), deadline: by(time.Hour)})
	earlier, past, fresh := r.read(conn, 1), r.read(conn, 1), r.read(conn, 1)
	r.idle(soon)
	r.wantFound(r.moved(never, by(soon)), 1)
	r.wantFound(r.moved(never, time.Time{}), 1)
	r.wantFound(r.moved(earlier, by(soon)), 1)
	r.wantFound(r.moved(past, by(-time.Hour)), 1)
	unseen := r.read(conn, 1)
	r.wantFound(r.moved(unseen, by(soon)), 1)
	for _, k := range []*ticket{earlier, past, unseen} {
		r.ends(k, 0, aio.ErrDeadline)
		r.wantFound(r.moved(k, by(time.Hour)), 0)
	}
	r.idle(2 * soon)
	r.wantPending(later, never, fresh)
	r.send(peer, []byte("abc"))
	for i, k := range []*ticket{later, never, fresh} {
		r.brings(k, []byte("abc")[i:i+1])
	}
}

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
