package aiosuite

import (
	"context"
	"io"
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

var tryWriteTests = []test{
	{"TryWrite", tryWrite, false},
	{"TryWritev", tryWritev, false},
	{"TryWriteBehind", tryWriteBehind, false},
	{"TryWriteInParts", tryWriteInParts, false},
	{"TryWriteToAccepted", tryWriteToAccepted, false},
	{"TryWriteRefused", tryWriteRefused, false},
	{"TryWriteToNobody", tryWriteToNobody, false},
}

// tryWrite is Conn.TryWrite. What it has sent is in the ledger, as a write that was returned.
func (r *rig) tryWrite(conn *aio.Conn, buf []byte) (int, error) {
	n, err := conn.TryWrite(buf)
	if n > 0 {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.tickets = append(r.tickets, &ticket{
			number: len(r.tickets), op: aio.OpWrite, conn: conn, buf: buf[:n],
			times: 1, result: aio.Result{Size: n},
		})
		r.direct++
	}
	return n, err
}

// sendNow has TryWrite send as long as there is room, and returns how much that was. Where it may
// find none though there is, it is asked more often.
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

// tryWrite: nobody is in WaitIO, and the peer has it.
func tryWrite(r *rig) {
	conn, peer := r.pair()
	all := pattern(1, 0, 5000)
	if n := r.sendNow(conn, all); n != len(all) {
		r.t.Fatalf("%d bytes of %d were sent, and there is room", n, len(all))
	}
	got := sink(peer)
	_ = conn.Close()
	data, _ := got()
	r.same("at the peer", data, all)
}

// tryWritev: what was sent is the beginning of all buffers together, as far as 64 KiB and what
// stands before; and it waits as TryWrite does.
func tryWritev(r *rig) {
	conn, peer := r.pair()
	all := pattern(4, 0, 300<<10)
	got := sink(peer)
	try := func(bufs ...[]byte) (n int) {
		r.t.Helper()
		n, err := conn.TryWritev(bufs)
		if err != nil || n < 0 {
			r.t.Fatal("TryWritev:", n, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if n > 0 {
			r.tickets = append(r.tickets, &ticket{
				number: len(r.tickets), op: aio.OpWrite, conn: conn, times: 1,
				result: aio.Result{Size: n},
			})
			r.direct++
		}
		return n
	}
	sent := 0
	for sent < len(all) {
		rest := all[sent:]
		head := min(len(rest), 4096)
		n := try(rest[:head/2], nil, rest[head/2:head], rest[head:])
		if n > head+64<<10 {
			r.t.Fatalf("%d bytes were sent at once", n)
		}
		if sent += n; n == 0 { // the peer reads
			r.idle(soon / 10)
		}
	}
	k := r.write(conn, []byte("."))
	if n := try([]byte("x"), []byte("y")); n != 0 {
		r.t.Errorf("TryWritev behind a write that was not begun: %d, want 0", n)
	}
	r.until(k)
	for what, bufs := range map[string][][]byte{"nothing": nil, "empty buffers": {nil, {}}} {
		if n, err := conn.TryWritev(bufs); n != 0 || err != aio.ErrEmptyBuffer {
			r.t.Errorf("TryWritev of %s: %d, %v; want %v", what, n, err, aio.ErrEmptyBuffer)
		}
	}
	if n, err := new(aio.Conn).TryWritev([][]byte{{1}}); n != 0 || err != aio.ErrClosed {
		r.t.Errorf("TryWritev to a zero Conn: %d, %v; want %v", n, err, aio.ErrClosed)
	}
	_ = conn.Close()
	data, _ := got()
	r.same("at the peer", data, append(all, '.'))
	if n, err := conn.TryWritev([][]byte{{1}}); n != 0 || err != aio.ErrClosed {
		r.t.Errorf("TryWritev to a closed connection: %d, %v; want %v", n, err, aio.ErrClosed)
	}
}

// tryWriteBehind: what was submitted before comes before, be it begun or not; a read does not matter.
func tryWriteBehind(r *rig) {
	conn, peer := r.pair()
	all := pattern(2, 0, 300)
	read := r.read(conn, 1)
	k := r.write(conn, all[:100])
	if n, err := r.tryWrite(conn, all[100:]); n != 0 || err != nil {
		r.t.Errorf("TryWrite behind a write that was not begun: %d, %v; want 0", n, err)
	}
	r.until(k)
	if n := r.sendNow(conn, all[100:200]); n != 100 {
		r.t.Errorf("%d bytes of 100 were sent behind a write that is over", n)
	}
	k = r.write(conn, all[200:])
	end := r.closeWrite(conn, aio.NoDeadline)
	if n, err := r.tryWrite(conn, all); n != 0 || err != nil {
		r.t.Errorf("TryWrite behind a CloseWrite: %d, %v; want 0", n, err)
	}
	r.until(k, end)
	if n, err := r.tryWrite(conn, all); n != 0 || err != syscall.EPIPE && !r.sys.Faulty {
		r.t.Errorf("TryWrite after a CloseWrite: %d, %v; want EPIPE", n, err)
	}
	r.wantPending(read)
	data, _ := sink(peer)()
	r.same("at the peer", data, all)
	_ = conn.Close()
}

// tryWriteInParts: what there is no room for is left to Write.
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
	if n, err := r.tryWrite(conn, all[r.large:]); n != 0 || err != nil {
		r.t.Errorf("TryWrite behind a write that was not begun: %d, %v; want 0", n, err)
	}
	r.idle(soon)
	r.wantPending(k)
	if n, err := r.tryWrite(conn, all[r.large:]); n != 0 || err != nil {
		r.t.Errorf("TryWrite behind a write that waits: %d, %v; want 0", n, err)
	}
	got := sink(peer)
	r.until(k)
	if n := r.sendNow(conn, all[r.large:]); n != 7 {
		k = r.write(conn, all[r.large+n:])
		r.until(k)
	}
	_ = conn.Close()
	data, _ := got()
	r.same("at the peer", data, all)
}

// tryWriteToAccepted: a connection to which nothing was submitted since it was accepted has room
// again once its peer has read.
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
	for end := time.Now().Add(stuck); r.sendNow(conn, []byte("x")) == 0; {
		if _, err := r.idleOnce(); err != nil || time.Now().After(end) {
			r.t.Fatalf("nothing was sent behind %d bytes that the peer has read; %v", sent, err)
		}
	}
}

// tryWriteRefused: nothing to write, and what is closed.
func tryWriteRefused(r *rig) {
	conn, _ := r.pair()
	try := func(what string, conn *aio.Conn, buf []byte, want error) {
		r.t.Helper()
		if n, err := r.tryWrite(conn, buf); n != 0 || err != want {
			r.t.Errorf("TryWrite %s: %d, %v; want %v", what, n, err, want)
		}
	}
	try("of nothing", conn, nil, aio.ErrEmptyBuffer)
	try("to a zero Conn", new(aio.Conn), []byte{1}, aio.ErrClosed)
	last := r.closeAfterWrites(conn, aio.NoDeadline)
	try("behind a CloseAfterWrites", conn, []byte{1}, aio.ErrClosed)
	r.until(last)
	try("to a closed connection", conn, []byte{1}, aio.ErrClosed)
	conn, _ = r.pair()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.w.Shutdown(ctx)
	try("to a closed Watcher", conn, []byte{1}, aio.ErrWatcherClosed)
}

// tryWriteToNobody: a peer that is gone refuses it, sooner or later.
func tryWriteToNobody(r *rig) {
	conn, peer := r.pair()
	r.sendNow(conn, []byte("x"))
	_ = peer.Close()
	var err error
	for err == nil {
		_, err = r.tryWrite(conn, []byte("y"))
		if err == nil {
			r.idle(soon / 10)
		}
	}
	if err != syscall.EPIPE && err != syscall.ECONNRESET {
		r.t.Errorf("%v, want EPIPE or ECONNRESET", err)
	}
}
