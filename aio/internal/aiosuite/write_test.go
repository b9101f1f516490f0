package aiosuite

import (
	"context"
	"io"
	"math/rand/v2"
	"syscall"
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

// tryWrite is Conn.TryWrite. The ledger has what it sends as a write that was returned.
func (r *rig) tryWrite(conn *aio.Conn, buf []byte) (int, error) {
	n, err := conn.TryWrite(buf)
	r.enterDirect(conn, buf[:max(n, 0)])
	return n, err
}

// enterDirect enters what was sent without an operation.
func (r *rig) enterDirect(conn *aio.Conn, sent []byte) {
	if len(sent) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tickets = append(r.tickets, &ticket{
		number: len(r.tickets), op: aio.OpWrite, conn: conn, buf: sent, times: 1, result: aio.Result{Size: len(sent)},
	})
	r.direct++
}

// sendNow has TryWrite send while there is room, and returns how much it sent. It tries again if a
// fault may have hidden the room.
func (r *rig) sendNow(conn *aio.Conn, buf []byte) (sent int) {
	r.t.Helper()
	tries := 1
	if r.sys.Faulty {
		tries = 20
	}
	for failed := 0; sent < len(buf) && failed < tries; {
		n, err := r.tryWrite(conn, buf[sent:])
		if err != nil || n < 0 {
			r.t.Fatal("TryWrite:", n, err)
		}
		if sent += n; n == 0 {
			failed++
		}
	}
	return sent
}

// wantNoRoom checks that TryWrite and TryWritev send nothing, with that error.
func (r *rig) wantNoRoom(what string, conn *aio.Conn, want error) {
	r.t.Helper()
	n, err := conn.TryWrite([]byte{1})
	m, verr := conn.TryWritev([][]byte{{1}, {2}})
	if n != 0 || m != 0 || err != want || verr != want {
		r.t.Errorf("%s: TryWrite %d, %v; TryWritev %d, %v; want 0, %v", what, n, err, m, verr, want)
	}
}

// tryWritev sends the beginning of all buffers together. One call sends no more than 64 KiB of the
// last one.
func tryWritev(r *rig) {
	conn, peer := r.pair()
	all := pattern(4, 0, 300<<10)
	got := sink(peer)
	for sent := 0; sent < len(all); {
		rest := all[sent:]
		head := min(len(rest), 4096)
		n, err := conn.TryWritev([][]byte{rest[:head/2], nil, rest[head/2 : head], rest[head:]})
		if err != nil || n < 0 || n > head+64<<10 {
			r.t.Fatal("TryWritev:", n, err)
		}
		r.enterDirect(conn, rest[:n])
		if sent += n; n == 0 { // the peer reads
			r.idle(soon / 10)
		}
	}
	_ = conn.Close()
	r.delivered(got, all)
}

// tryWriteBehind: TryWrite sends nothing while an earlier write is not over, begun or not. Reads do
// not matter.
func tryWriteBehind(r *rig) {
	conn, peer := r.pair()
	all := pattern(2, 0, 300)
	read := r.read(conn, 1)
	k := r.write(conn, all[:100])
	r.wantNoRoom("behind a write that was not begun", conn, nil)
	r.until(k)
	if n := r.sendNow(conn, all[100:200]); n != 100 {
		r.t.Errorf("%d bytes of 100 were sent behind a write that is over", n)
	}
	k = r.write(conn, all[200:])
	end := r.closeWrite(conn, aio.NoDeadline)
	r.wantNoRoom("behind a CloseWrite", conn, nil)
	r.until(k, end)
	if n, err := r.tryWrite(conn, all); n != 0 || err != syscall.EPIPE && !r.sys.Faulty {
		r.t.Errorf("TryWrite after a CloseWrite: %d, %v; want EPIPE", n, err)
	}
	r.wantPending(read)
	r.delivered(sink(peer), all)
	_ = conn.Close()
}

// tryWriteBeside: a busy WaitIO keeps no TryWrite waiting, and takes in what is submitted during one.
func tryWriteBeside(r *rig) {
	r.rough = true
	conn, peer := r.pair()
	const n = 200
	looped := make(chan struct{})
	go func() {
		defer close(looped)
		for posts := 0; posts < n; posts++ {
			r.until(r.must(ticket{op: aio.OpPost}))
		}
	}()
	all, got := pattern(6, 0, n), make([]byte, n)
	var reads []*ticket
	for i := range all {
		reads = append(reads, r.read(conn, 1))
		if sent := r.sendNow(conn, all[i:i+1]); sent == 0 && !r.sys.Faulty {
			r.t.Fatal("TryWrite has sent nothing")
		} else if _, err := io.ReadFull(peer, got[i:i+sent]); err != nil {
			r.t.Fatal(err)
		}
	}
	<-looped
	if !r.sys.Faulty {
		r.same("at the peer", got, all)
	}
	r.send(peer, all)
	r.until(reads...)
}

// tryWriteInParts: Write sends what TryWrite found no room for.
func tryWriteInParts(r *rig) {
	conn, peer := r.pair()
	all := pattern(3, 0, r.large+7)
	sent := 0
	for more := true; more; { // the kernel may have room again a moment later
		n := r.sendNow(conn, all[sent:r.large])
		sent, more = sent+n, n > 0 && sent+n < r.large
	}
	if sent == 0 || sent == r.large {
		r.t.Fatalf("%d bytes of %d were sent to a peer that does not read", sent, r.large)
	}
	k := r.write(conn, all[sent:r.large])
	r.idle(soon)
	r.wantPending(k)
	r.wantNoRoom("behind a write that waits", conn, nil)
	got := sink(peer)
	r.until(k)
	if n := r.sendNow(conn, all[r.large:]); n != 7 {
		r.until(r.write(conn, all[r.large+n:]))
	}
	_ = conn.Close()
	r.delivered(got, all)
}

// tryWriteToAccepted: an accepted connection, to which nothing was submitted, has room again once
// its peer has read.
func tryWriteToAccepted(r *rig) {
	l, dial := r.listener()
	k := r.accept(l)
	peer := dial()
	conn := r.accepted(k)
	var sent int64
	for piece, n := pattern(5, 0, r.large), r.large; n == len(piece); sent += int64(n) {
		n = r.sendNow(conn, piece)
	}
	_, err := io.CopyN(io.Discard, peer, sent)
	Must(r.t, err)
	for end := time.Now().Add(stuck); r.sendNow(conn, []byte("x")) == 0; r.idle(time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("nothing was sent behind %d bytes that the peer has read", sent)
		}
	}
}

// tryWriteRefused: nothing to write, and a connection or Watcher that is closed.
func tryWriteRefused(r *rig) {
	conn, _ := r.pair()
	for _, bufs := range [][][]byte{nil, {nil, {}}} {
		if n, err := conn.TryWritev(bufs); n != 0 || err != aio.ErrEmptyBuffer {
			r.t.Errorf("TryWritev of %q: %d, %v; want ErrEmptyBuffer", bufs, n, err)
		}
	}
	if n, err := conn.TryWrite(nil); n != 0 || err != aio.ErrEmptyBuffer {
		r.t.Errorf("TryWrite of nothing: %d, %v; want ErrEmptyBuffer", n, err)
	}
	r.wantNoRoom("a zero Conn", new(aio.Conn), aio.ErrClosed)
	last := r.closeAfterWrites(conn, aio.NoDeadline)
	r.wantNoRoom("behind a CloseAfterWrites", conn, aio.ErrClosed)
	r.until(last)
	r.wantNoRoom("a closed connection", conn, aio.ErrClosed)
	conn, _ = r.pair()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.w.Shutdown(ctx)
	r.wantNoRoom("a closed Watcher", conn, aio.ErrWatcherClosed)
}
