package aiosuite

import (
	"bytes"
	"io"
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

var peerTests = []test{
	{"PeerEnds", peerEnds, false},
	{"PeerEndsWhileWaiting", peerEndsWhileWaiting, false},
	{"HalfClosed", halfClosed, false},
	{"Reset", peerResets, false},
	{"ResetWhileWaiting", resetWhileWaiting, false},
	{"ResetAfterData", resetAfterData, false},
	{"WriteToNobody", writeToNobody, false},
}

// peerEnds: data first, then size 0 and io.EOF, as often as it is asked for.
func peerEnds(r *rig) {
	conn, peer := r.pair()
	data := pattern(1, 0, 500)
	r.send(peer, data)
	_ = peer.Close()
	got, err := r.readAll(conn)
	if err != io.EOF {
		r.t.Errorf("at the end: %v", err)
	}
	r.same("before the end", got, data)
	for _, k := range []*ticket{r.read(conn, 1), r.readSwap(conn), r.readFull(conn, 1, time.Time{})} {
		r.until(k)
		r.want(k, 0, io.EOF)
	}
}

// peerEndsWhileWaiting: all reads that wait are told.
func peerEndsWhileWaiting(r *rig) {
	conn, peer := r.pair()
	ks := []*ticket{r.read(conn, 9), r.readSwap(conn), r.readFull(conn, 9, time.Time{}), r.read(conn, 9)}
	r.idle(soon)
	r.wantPending(ks...)
	_ = peer.Close()
	r.until(ks...)
	for _, k := range ks {
		r.want(k, 0, io.EOF)
	}
}

// halfClosed: a peer that has ended its side still gets what is written to it.
func halfClosed(r *rig) {
	conn, peer := r.pair()
	k := r.read(conn, 1)
	r.idle(soon)
	_ = closeWrite(peer)
	r.until(k)
	r.want(k, 0, io.EOF)
	got := sink(peer)
	data := pattern(2, 0, 100<<10)
	for at := 0; at < len(data); at += 10 << 10 {
		w := r.write(conn, data[at:at+10<<10])
		r.until(w)
		r.want(w, 10<<10, nil)
	}
	_ = conn.Close()
	back, err := got()
	if err != nil {
		r.t.Error(err)
	}
	r.same("at the peer", back, data)
}

// peerResets: ECONNRESET once; writes find EPIPE then.
func peerResets(r *rig) {
	conn, peer := r.pair()
	k := r.write(conn, []byte("x"))
	r.until(k)
	if !reset(peer) {
		r.t.Skip("needs a connection that can be reset: unix sockets can on Linux only")
	}
	k = r.read(conn, 1)
	r.until(k)
	r.want(k, 0, syscall.ECONNRESET)
	k = r.write(conn, []byte("x"))
	r.until(k)
	r.want(k, 0, syscall.EPIPE)
	k = r.read(conn, 1)
	r.until(k)
	r.want(k, 0, io.EOF)
}

// resetWhileWaiting: everything that waits ends.
func resetWhileWaiting(r *rig) {
	conn, peer := r.pair()
	reads := []*ticket{r.readFull(conn, 9, time.Time{}), r.readSwap(conn), r.read(conn, 1)}
	write := r.write(conn, make([]byte, r.large))
	next := r.write(conn, make([]byte, 10))
	r.idle(soon)
	r.wantPending(append(reads, write, next)...)
	if !reset(peer) {
		r.t.Skip("needs a connection that can be reset: unix sockets can on Linux only")
	}
	r.until(append(reads, write, next)...)
	resets := 0
	for _, k := range append(reads, write, next) {
		switch err := k.result.Error; {
		case err == syscall.ECONNRESET:
			resets++
		case k.op == aio.OpRead && err == io.EOF, k.op == aio.OpWrite && err == syscall.EPIPE:
		default:
			r.t.Errorf("operation %d after the reset: %+v", k.number, k.result.Error)
		}
	}
	if resets == 0 {
		r.t.Error("a reset, and no operation got ECONNRESET")
	}
	if write.result.Size == 0 || write.result.Size == len(write.buf) || next.result.Size != 0 {
		r.t.Errorf("sent before the reset: %d of %d bytes, and %d of the next write's", write.result.Size,
			len(write.buf), next.result.Size)
	}
}

// resetAfterData: what had come before the reset may be read; nothing else.
func resetAfterData(r *rig) {
	conn, peer := r.pair()
	data := pattern(3, 0, 300)
	r.send(peer, data)
	k := r.write(conn, []byte("x"))
	r.until(k)
	if !reset(peer) {
		r.t.Skip("needs a connection that can be reset: unix sockets can on Linux only")
	}
	got, err := r.readAll(conn)
	if err != syscall.ECONNRESET || !bytes.HasPrefix(data, got) {
		r.t.Errorf("%d bytes (the right ones: %v), then %v; want ECONNRESET", len(got), bytes.HasPrefix(data, got), err)
	}
}

// writeToNobody: a peer that is gone refuses in the end.
func writeToNobody(r *rig) {
	conn, peer := r.pair()
	r.idle(time.Millisecond)
	_ = peer.Close()
	for start := time.Now(); time.Since(start) < stuck; {
		k := r.write(conn, []byte("x"))
		r.until(k)
		switch k.result.Error {
		case nil: // on its way
			r.idle(time.Millisecond)
			continue
		case syscall.EPIPE, syscall.ECONNRESET:
		default:
			r.t.Errorf("a write to a peer that is gone: %v", k.result.Error)
		}
		return
	}
	r.t.Errorf("writes to a peer that is gone for %v, and no error", stuck)
}
