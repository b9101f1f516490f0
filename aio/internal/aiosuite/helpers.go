package aiosuite

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"evenkeel.dev/aio"
)

// send writes at the peer, which has room for it.
func (r *rig) send(peer net.Conn, data []byte) {
	r.t.Helper()
	if n, err := peer.Write(data); err != nil {
		r.t.Fatalf("the peer's Write of %d bytes: %d, %v", len(data), n, err)
	}
}

// sendThere is send, and has the data be there to be read when it returns: a byte before it, which
// comes with it, was read by then.
func (r *rig) sendThere(conn *aio.Conn, peer net.Conn, data []byte) {
	r.t.Helper()
	r.send(peer, append([]byte{'-'}, data...))
	k := r.read(conn, 1)
	r.until(k)
	r.wantData(k, []byte{'-'})
}

// pairWith is pair, and has the data be there to be read when it returns, as sendThere does.
func (r *rig) pairWith(data []byte) *aio.Conn {
	r.t.Helper()
	own, peer := r.raw()
	r.send(peer, append([]byte{'-'}, data...))
	_, err := io.ReadFull(own, make([]byte, 1))
	Must(r.t, err)
	conn, err := r.w.Attach(own)
	Must(r.t, err)
	return conn
}

// waits returns a function that waits until a WaitIO that begins after this call waits for
// something to do.
func (r *rig) waits() (wait func()) {
	before := r.w.Stats().Waits
	return func() {
		for r.w.Stats().Waits == before {
			time.Sleep(time.Millisecond)
		}
	}
}

// idle is in WaitIO for that long. What comes is in the ledger.
func (r *rig) idle(long time.Duration) {
	r.t.Helper()
	clock, _ := r.pair()
	k := r.must(ticket{conn: clock, buf: make([]byte, 1), deadline: time.Now().Add(long)})
	r.until(k)
	r.want(k, 0, aio.ErrDeadline)
}

// readAll reads until there is an error, and returns it with what came before.
func (r *rig) readAll(conn *aio.Conn) ([]byte, error) {
	r.t.Helper()
	var got []byte
	for {
		k := r.read(conn, 100)
		r.until(k)
		got = append(got, k.data...)
		if k.result.Error != nil {
			return got, k.result.Error
		}
	}
}

// same checks that data came as it was sent.
func (r *rig) same(what string, got, want []byte) {
	r.t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	r.t.Errorf("%s: %d bytes, want %d; they differ from byte %d on", what, len(got), len(want), at)
}

// wantData checks that a read ended well, with that.
func (r *rig) wantData(k *ticket, want []byte) {
	r.t.Helper()
	r.want(k, len(want), nil)
	r.same("a read", k.data, want)
}

// wantPending checks that it has not been returned yet.
func (r *rig) wantPending(ks ...*ticket) {
	r.t.Helper()
	for _, k := range ks {
		if r.times(k) != 0 {
			r.t.Errorf("operation %d is over already: size %d, error %v", k.number, k.result.Size, k.result.Error)
		}
	}
}

// sink reads what comes to a peer until its end. The function that it returns waits for that.
func sink(peer net.Conn) func() ([]byte, error) {
	var data []byte
	var err error
	var wg sync.WaitGroup
	wg.Go(func() { data, err = io.ReadAll(peer) })
	return func() ([]byte, error) {
		wg.Wait()
		return data, err
	}
}

// source writes at a peer, and then ends its side.
func source(peer net.Conn, data []byte) {
	go func() {
		_, _ = peer.Write(data)
		_ = closeWrite(peer)
	}()
}

func closeWrite(peer net.Conn) error { return peer.(interface{ CloseWrite() error }).CloseWrite() }

// upTo draws a time below limit.
func upTo(rng *rand.Rand, limit time.Duration) time.Duration {
	return time.Duration(rng.Int64N(int64(limit)))
}
