package aiosuite

import (
	"io"
	"sync"
	"time"

	"evenkeel.dev/aio"
)

var cancelTests = []test{
	{"Cancel", cancel, false},
	{"CancelBeforeItBegins", cancelBeforeItBegins, false},
	{"CancelWhatIsOver", cancelWhatIsOver, false},
	{"CancelWrite", cancelWrite, false},
	{"CancelCloseWrite", cancelCloseWrite, false},
	{"CancelWhileWaiting", cancelWhileWaiting, false},
	{"CancelRace", cancelRace, false},
	{"SetDeadline", setDeadline, false},
	{"SetDeadlineWhileWaiting", setDeadlineWhileWaiting, false},
	{"SetDeadlineOfAClose", setDeadlineOfAClose, false},
}

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

// wantFound checks what Cancel or SetDeadline has found.
func (r *rig) wantFound(n, want int) {
	r.t.Helper()
	if n != want {
		r.t.Errorf("%d operations found, want %d", n, want)
	}
}

// cancel: wherever it stands in the queue, the others take their turns.
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
		r.until(ks[i])
		r.want(ks[i], 0, aio.ErrCancelled)
		r.wantFound(r.cancelled(ks[i]), 0)
	}
	r.wantPending(ks[1], ks[2], ks[4])
	r.send(peer, []byte("abc"))
	for i, k := range []*ticket{ks[1], ks[2], ks[4]} {
		r.until(k)
		r.wantData(k, []byte("abc")[i:i+1])
	}
	swap, full := r.readSwap(conn), r.readFull(conn, 9, time.Time{})
	r.idle(soon)
	r.wantFound(r.cancelled(swap), 1)
	r.until(swap)
	r.want(swap, 0, aio.ErrCancelled)
	r.send(peer, []byte("half"))
	for range 3 { // it is there by the time that another of the same way was
		r.idle(soon)
	}
	r.wantFound(r.cancelled(full), 1)
	r.until(full)
	rest := append([]byte(nil), full.data...)
	for len(rest) < 4 {
		k := r.read(conn, 9)
		r.until(k)
		rest = append(rest, k.data...)
	}
	r.same("before and after it was cancelled", rest, []byte("half"))
	if full.result.Error != aio.ErrCancelled {
		r.t.Errorf("%v, want ErrCancelled", full.result.Error)
	}
	for _, tag := range []any{nil, "another's", []int{1}, struct{ any }{func() {}}} {
		r.wantFound(conn.Cancel(tag), 0)
		r.wantFound(conn.SetDeadline(tag, time.Now()), 0)
	}
	r.wantFound(new(aio.Conn).Cancel(nil), 0)
	r.wantFound(new(aio.Conn).SetDeadline(nil, time.Time{}), 0)
}

// cancelBeforeItBegins: what WaitIO has not seen is not tried.
func cancelBeforeItBegins(r *rig) {
	conn, peer := r.pair()
	r.sendThere(conn, peer, []byte("a"))
	first, second := r.read(conn, 1), r.write(conn, []byte("x"))
	next, last := r.read(conn, 1), r.write(conn, []byte("y"))
	r.wantFound(r.cancelled(first), 1)
	r.wantFound(r.cancelled(second), 1)
	r.until(first, second, next, last)
	r.want(first, 0, aio.ErrCancelled)
	r.want(second, 0, aio.ErrCancelled)
	r.wantData(next, []byte("a"))
	r.want(last, 1, nil)
	got := make([]byte, 1)
	_, _ = io.ReadFull(peer, got)
	r.same("at the peer", got, []byte("y"))
}

// cancelWhatIsOver: it is returned as it ended, before and after a Close.
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
	r.until(pending)
	r.want(pending, 0, aio.ErrClosed)
}

// cancelWrite: Size says how far it came, and the next one continues there.
func cancelWrite(r *rig) {
	conn, peer, writes, all := r.blocked()
	read := r.read(conn, 1)
	r.idle(soon)
	r.wantFound(r.cancelled(writes[0]), 1)
	r.until(writes[0])
	sent := writes[0].result.Size
	if err := writes[0].result.Error; err != aio.ErrCancelled || sent == 0 || sent == len(writes[0].buf) {
		r.t.Fatalf("a write to a peer that does not read: %d of %d bytes, %v; want a part and ErrCancelled", sent,
			len(writes[0].buf), err)
	}
	r.wantPending(writes[1], read)
	got := sink(peer)
	r.until(writes[1])
	r.want(writes[1], 10, nil)
	_ = conn.Close()
	data, _ := got()
	r.same("at the peer", data, append(all[:sent:sent], writes[1].buf...))
}

// cancelCloseWrite: the end of the sending side can be taken back, a close cannot.
func cancelCloseWrite(r *rig) {
	conn, peer, writes, all := r.blocked()
	end := r.closeWrite(conn, time.Time{})
	r.idle(soon)
	r.wantFound(r.cancelled(end), 1)
	r.until(end)
	r.want(end, 0, aio.ErrCancelled)
	more := r.write(conn, []byte("more"))
	last := r.closeAfterWrites(conn, time.Time{})
	r.wantFound(r.cancelled(last), 0)
	got := sink(peer)
	r.until(append(writes, more, last)...)
	r.want(more, 4, nil)
	r.want(last, 0, nil)
	data, _ := got()
	r.same("at the peer", data, append(all, "more"...))
}

// cancelWhileWaiting: a WaitIO that waits returns it.
func cancelWhileWaiting(r *rig) {
	conn, _ := r.pair()
	k, done, waits := r.read(conn, 1), make(chan int), r.waits()
	go func() {
		waits()
		done <- r.cancelled(k)
	}()
	r.until(k)
	r.wantFound(<-done, 1)
	r.want(k, 0, aio.ErrCancelled)
}

// cancelRace: operations are cancelled while their bytes come. Each is returned once, no byte is lost.
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

// setDeadline: earlier, later, taken away, and before it begins.
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
		r.until(k)
		r.want(k, 0, aio.ErrDeadline)
		r.wantFound(r.moved(k, by(time.Hour)), 0)
		if time.Now().Before(k.deadline) {
			r.t.Errorf("operation %d ended before its deadline", k.number)
		}
	}
	r.idle(2 * soon)
	r.wantPending(later, never, fresh)
	r.send(peer, []byte("abc"))
	for i, k := range []*ticket{later, never, fresh} {
		r.until(k)
		r.wantData(k, []byte("abc")[i:i+1])
	}
}

// setDeadlineWhileWaiting: a waiting WaitIO hears of it.
func setDeadlineWhileWaiting(r *rig) {
	conn, _ := r.pair()
	k := r.must(ticket{conn: conn, buf: make([]byte, 1), deadline: time.Now().Add(time.Hour)})
	done, waits := make(chan int), r.waits()
	go func() {
		waits()
		done <- r.moved(k, time.Now().Add(soon))
	}()
	r.until(k)
	r.wantFound(<-done, 1)
	r.want(k, 0, aio.ErrDeadline)
}

// setDeadlineOfAClose: it can be moved, too.
func setDeadlineOfAClose(r *rig) {
	conn, _, writes, _ := r.blocked()
	end := r.closeAfterWrites(conn, time.Time{})
	r.idle(soon)
	r.wantFound(r.moved(end, time.Now().Add(soon)), 1)
	r.until(append(writes, end)...)
	r.want(end, 0, aio.ErrDeadline)
	r.want(writes[1], 0, aio.ErrClosed)
}
