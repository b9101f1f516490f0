package aio_test

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/aiosuite"
)

// TestReuse frees connections from other goroutines, while operations of them are submitted and
// in flight, and opens new ones at once, to which the kernel gives the same descriptor numbers.
// Every connection has its identity in all of its bytes, in both directions: one that comes to
// another's peer shows (gnet #621).
func TestReuse(t *testing.T) {
	for _, b := range []aio.Backend{aio.BackendIOUring, aio.BackendEpoll} {
		t.Run(b.String(), func(t *testing.T) {
			w := aiosuite.Open(t, aio.Options{Backend: b})
			r := &reuse{t: t, w: w}
			var churn, wait sync.WaitGroup
			wait.Go(r.wait)
			for seed := range uint64(churners) {
				churn.Go(func() { r.churn(rand.New(rand.NewPCG(seed, 1))) })
			}
			churn.Wait()
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			wait.Wait()
			if n := r.submitted.Load(); n != r.returned.Load() {
				t.Errorf("%d operations were submitted, %d returned", n, r.returned.Load())
			}
			if s := w.Stats(); r.conns.Load() != churners*churned || s.BytesRead == 0 {
				t.Errorf("%d connections: %+v", r.conns.Load(), s)
			}
		})
	}
}

const (
	churners = 4
	churned  = 150 // connections of each
)

type reuse struct {
	t         *testing.T
	w         *aio.Watcher
	conns     atomic.Uint32
	submitted atomic.Int64
	returned  atomic.Int64
}

// reuseTag is a connection's identity; the peer sends it, inverted, too.
type reuseTag uint32

func identityBytes(id uint32, n int) []byte {
	buf := make([]byte, 0, 4*n)
	for range n {
		buf = binary.BigEndian.AppendUint32(buf, id)
	}
	return buf
}

// wait checks that reads get their own peer's bytes.
func (r *reuse) wait() {
	for {
		results, err := r.w.WaitIO()
		if err != nil {
			if err != aio.ErrWatcherClosed {
				r.t.Error(err)
			}
			return
		}
		r.returned.Add(int64(len(results)))
		for _, res := range results {
			id := ^uint32(res.Tag.(reuseTag))
			if res.Op == aio.OpRead {
				checkIdentity(r.t, "read", res.Buffer[:res.Size], id)
			}
		}
	}
}

// checkIdentity checks bytes that are whole words: all is sent in words, and the sockets are
// never full.
func checkIdentity(t *testing.T, what string, data []byte, id uint32) {
	for ; len(data) >= 4; data = data[4:] {
		if got := binary.BigEndian.Uint32(data); got != id {
			t.Errorf("%s on connection %#x: the bytes %#x are another's", what, id, got)
			return
		}
	}
}

// churn opens connections, has them work, and frees them in the midst of it.
func (r *reuse) churn(rng *rand.Rand) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Error(err)
		return
	}
	defer func() { _ = l.Close() }()
	var peers sync.WaitGroup
	defer peers.Wait()
	var last *aio.Conn
	for range churned {
		if r.t.Failed() {
			break
		}
		peer, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			r.t.Error(err)
			return
		}
		_ = peer.(*net.TCPConn).SetLinger(0) // no port is kept waiting
		conn, err := r.accept(l)
		if err != nil {
			r.t.Error(err)
			return
		}
		id := r.conns.Add(1)
		peers.Go(func() { r.peer(peer, id) })
		r.use(conn, id, rng)
		// The one before goes while this one begins: its number is for the next.
		if last != nil {
			if err := last.Close(); err != nil {
				r.t.Error(err)
			}
		}
		last = conn
		if rng.IntN(8) == 0 {
			time.Sleep(time.Duration(rng.IntN(300)) * time.Microsecond)
		}
	}
	if last != nil {
		_ = last.Close()
	}
}

// accept attaches the next connection.
func (r *reuse) accept(l net.Listener) (*aio.Conn, error) {
	conn, err := l.Accept()
	if err != nil {
		return nil, err
	}
	return r.w.Attach(conn)
}

// use submits some operations.
func (r *reuse) use(conn *aio.Conn, id uint32, rng *rand.Rand) {
	for range 1 + rng.IntN(4) {
		var err error
		switch rng.IntN(4) {
		case 0:
			err = conn.Read(reuseTag(id), nil, none)
		case 1:
			err = conn.Read(reuseTag(id), make([]byte, 64), none)
		default:
			err = conn.Write(reuseTag(id), identityBytes(id, 1+rng.IntN(16)), none)
		}
		if err != nil {
			r.t.Error(err)
			return
		}
		r.submitted.Add(1)
	}
}

// peer sends its identity, and checks what comes.
func (r *reuse) peer(peer net.Conn, id uint32) {
	defer func() { _ = peer.Close() }()
	_, _ = peer.Write(identityBytes(^id, 16))
	buf := make([]byte, 1024)
	for {
		_ = peer.SetReadDeadline(time.Now().Add(patience))
		n, err := io.ReadAtLeast(peer, buf, 4)
		checkIdentity(r.t, "at the peer", buf[:n], id)
		if err != nil {
			if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
				r.t.Errorf("connection %#x was freed, and its peer has waited %v for its end", id, patience)
			}
			return
		}
	}
}
