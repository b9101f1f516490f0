package aiosuite

import (
	"bytes"
	"io"
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

// peerEnds: a read brings the data first, then size 0 and io.EOF. All pending reads end.
func peerEnds(r *rig) {
	conn, peer := r.pair()
	data := pattern(1, 0, 500)
	r.send(peer, data)
	r.brings(r.readFull(conn, len(data), time.Time{}), data)
	for round := range 2 {
		ks := []*ticket{r.read(conn, 9), r.readSwap(conn), r.readFull(conn, 9, time.Time{}), r.read(conn, 9)}
		if round == 0 {
			r.idle(soon)
			r.wantPending(ks...)
			_ = peer.Close()
		}
		r.allEnd(io.EOF, ks...)
	}
}

// halfClosed: a peer that has ended its side still gets what is written to it.
func halfClosed(r *rig) {
	conn, peer := r.pair()
	k := r.read(conn, 1)
	r.idle(soon)
	_ = closeWrite(peer)
	r.ends(k, 0, io.EOF)
	got := sink(peer)
	data := pattern(2, 0, 100<<10)
	for at := 0; at < len(data); at += 10 << 10 {
		r.allSent(r.write(conn, data[at:at+10<<10]))
	}
	_ = conn.Close()
	r.delivered(got, data)
}

// peerResets: the first operation finds ECONNRESET, writes find EPIPE after it, and reads the end.
func peerResets(r *rig) {
	conn, peer := r.pair()
	r.until(r.write(conn, []byte("x")))
	r.reset(peer)
	r.ends(r.read(conn, 1), 0, syscall.ECONNRESET)
	r.ends(r.write(conn, []byte("x")), 0, syscall.EPIPE)
	r.ends(r.read(conn, 1), 0, io.EOF)
	end := r.closeWrite(conn, time.Time{})
	r.until(end)
	if err := end.result.Error; err != nil && err != syscall.ENOTCONN {
		r.t.Errorf("CloseWrite after a reset: %v, want nil or ENOTCONN", err)
	}
}

// resetWhileWaiting: all pending operations end.
func resetWhileWaiting(r *rig) {
	conn, peer := r.pair()
	reads := []*ticket{r.readFull(conn, 9, time.Time{}), r.readSwap(conn), r.read(conn, 1)}
	write := r.write(conn, make([]byte, r.large))
	next := r.write(conn, make([]byte, 10))
	all := append(reads, write, next)
	r.idle(soon)
	r.wantPending(all...)
	r.reset(peer)
	r.until(all...)
	resets := 0
	for _, k := range all {
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

// resetAfterData: reads bring data that arrived before the reset, or a part of it.
func resetAfterData(r *rig) {
	conn, peer := r.pair()
	data := pattern(3, 0, 300)
	r.send(peer, data)
	r.until(r.write(conn, []byte("x")))
	r.reset(peer)
	got, err := r.readAll(conn)
	if err != syscall.ECONNRESET || !bytes.HasPrefix(data, got) {
		r.t.Errorf("%d bytes (the right ones: %v), then %v; want ECONNRESET", len(got), bytes.HasPrefix(data, got), err)
	}
}
