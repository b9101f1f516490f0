package aiosuite

import (
	"bytes"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/internal/testutil"
)

// send is a Write of the peer, which has room for it.
func (r *rig) send(peer net.Conn, data []byte) {
	r.t.Helper()
	if n, err := peer.Write(data); err != nil {
		r.t.Fatalf("the peer's Write of %d bytes: %d, %v", len(data), n, err)
	}
}

// sendThere is send, and returns when the data can be read. One byte more arrives together with it.
func (r *rig) sendThere(conn *aio.Conn, peer net.Conn, data []byte) {
	r.t.Helper()
	r.send(peer, append([]byte{'-'}, data...))
	r.brings(r.read(conn, 1), []byte{'-'})
}

// pairWith is pair, with data that can be read when it returns.
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

// pairThatTells is pair. arrived waits until n bytes can be read.
func (r *rig) pairThatTells() (conn *aio.Conn, peer net.Conn, arrived func(n int)) {
	r.t.Helper()
	own, peer := r.raw()
	arrived = arrival(r.t, own)
	conn, err := r.w.Attach(own)
	Must(r.t, err)
	return conn, peer, arrived
}

// whileWaiting calls f when a later WaitIO waits. done waits for f.
func (r *rig) whileWaiting(f func()) (done func()) {
	before := r.w.Stats().Waits
	return when(func() bool { return r.w.Stats().Waits > before }, f)
}

// afterStall calls f when an accept waits for room. done waits for f.
func (r *rig) afterStall(f func()) (done func()) {
	return when(func() bool { return r.w.Stats().AcceptStalls > 0 }, f)
}

// when has another goroutine call f once cond is true.
func when(cond func() bool, f func()) (done func()) {
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		for !cond() {
			time.Sleep(time.Millisecond)
		}
		f()
	}()
	return func() { <-returned }
}

// idle is in WaitIO for that long.
func (r *rig) idle(long time.Duration) {
	r.t.Helper()
	clock, _ := r.pair()
	r.ends(r.must(ticket{conn: clock, buf: make([]byte, 1), deadline: time.Now().Add(long)}), 0, aio.ErrDeadline)
}

// ends waits for an operation, and checks how it ended.
func (r *rig) ends(k *ticket, size int, err error) {
	r.t.Helper()
	r.until(k)
	r.want(k, size, err)
}

// allEnd waits for operations, which end with err and have transferred nothing.
func (r *rig) allEnd(err error, ks ...*ticket) {
	r.t.Helper()
	r.until(ks...)
	for _, k := range ks {
		r.want(k, 0, err)
	}
}

// allSent waits for writes, which have sent all.
func (r *rig) allSent(ks ...*ticket) {
	r.t.Helper()
	r.until(ks...)
	for _, k := range ks {
		r.want(k, len(k.buf), nil)
	}
}

// brings waits for a read, which has read that.
func (r *rig) brings(k *ticket, want []byte) {
	r.t.Helper()
	r.until(k)
	r.wantData(k, want)
}

// works checks that conn and peer reach each other.
func (r *rig) works(conn *aio.Conn, peer net.Conn) {
	r.t.Helper()
	r.send(peer, []byte("question"))
	r.brings(r.readFull(conn, 8, time.Time{}), []byte("question"))
	r.allSent(r.write(conn, []byte("answer")))
	got := make([]byte, 6)
	_, err := io.ReadFull(peer, got)
	Must(r.t, err)
	r.same("the answer", got, []byte("answer"))
}

// cutShort checks that a write ended with err before all was sent, and returns what it has sent.
func (r *rig) cutShort(k *ticket, err error) []byte {
	r.t.Helper()
	r.until(k)
	if n := k.result.Size; n == 0 || n == len(k.buf) || k.result.Error != err {
		r.t.Errorf("operation %d: %d of %d bytes sent, %v; want a part and %v", k.number, n, len(k.buf),
			k.result.Error, err)
	}
	return k.buf[:k.result.Size]
}

// readAll reads until an error.
func (r *rig) readAll(conn *aio.Conn) ([]byte, error) {
	r.t.Helper()
	var got []byte
	for {
		k := r.read(conn, 4<<10)
		r.until(k)
		got = append(got, k.data...)
		if k.result.Error != nil {
			return got, k.result.Error
		}
	}
}

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

func (r *rig) wantData(k *ticket, want []byte) {
	r.t.Helper()
	r.want(k, len(want), nil)
	r.same("a read", k.data, want)
}

func (r *rig) wantPending(ks ...*ticket) {
	r.t.Helper()
	for _, k := range ks {
		if r.times(k) != 0 {
			r.t.Errorf("operation %d is over already: size %d, error %v", k.number, k.result.Size, k.result.Error)
		}
	}
}

// wantClosed checks that conn refuses all operations.
func (r *rig) wantClosed(conn *aio.Conn) {
	r.t.Helper()
	r.refuse(aio.ErrClosed,
		ticket{conn: conn}, ticket{conn: conn, buf: []byte{1}}, ticket{op: aio.OpWrite, conn: conn, buf: []byte{1}},
		ticket{op: aio.OpCloseWrite, conn: conn}, ticket{op: aio.OpClose, conn: conn})
}

// sink reads all that a peer gets. The function that it returns waits for the end.
func sink(peer net.Conn) func() ([]byte, error) {
	var data []byte
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		data, err = io.ReadAll(peer)
	}()
	return func() ([]byte, error) {
		<-ended
		return data, err
	}
}

// delivered checks what a sink has read.
func (r *rig) delivered(got func() ([]byte, error), want []byte) {
	r.t.Helper()
	data, err := got()
	if err != nil {
		r.t.Error("the peer:", err)
	}
	r.same("at the peer", data, want)
}

// wantGone checks the error of a write to a peer that has closed.
func (r *rig) wantGone(err error) {
	r.t.Helper()
	if err != syscall.EPIPE && err != syscall.ECONNRESET {
		r.t.Errorf("a write to a closed peer: %v, want EPIPE or ECONNRESET", err)
	}
}

// reset has conn find ECONNRESET. Something was sent to peer, which has not read it.
func (r *rig) reset(peer net.Conn) {
	r.t.Helper()
	if !reset(peer) {
		r.t.Skip("needs a connection that can be reset: unix sockets can on Linux only")
	}
}

func closeWrite(peer net.Conn) error { return peer.(interface{ CloseWrite() error }).CloseWrite() }

func upTo(rng *rand.Rand, limit time.Duration) time.Duration {
	return time.Duration(rng.Int64N(int64(limit)))
}

// seeds are those of a random test: named unless it is 0, else 1 to n. make soak has fresh ones.
func seeds(t *testing.T, named, n uint64) iter.Seq[uint64] {
	t.Helper()
	soak := testutil.Soak()
	end := time.Now().Add(soak)
	return func(yield func(uint64) bool) {
		switch {
		case named != 0:
			yield(named)
		case soak == 0:
			for seed := uint64(1); seed <= n && yield(seed); seed++ {
			}
		default:
			for time.Now().Before(end) && !t.Failed() && yield(rand.Uint64()) {
			}
		}
	}
}
