package aiosuite

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync/atomic"
	"time"

	"evenkeel.dev/aio"
)

// attached: the connection's own methods fail, and the handle takes its place.
func attached(r *rig) {
	own, peer := r.raw()
	local, remote := own.LocalAddr().String(), own.RemoteAddr().String()
	conn, err := r.w.Attach(own)
	Must(r.t, err)
	_, readErr := own.Read(make([]byte, 1))
	_, writeErr := own.Write([]byte("x"))
	for _, err := range []error{readErr, writeErr, own.Close()} {
		if !errors.Is(err, net.ErrClosed) {
			r.t.Errorf("Read, Write and Close of an attached connection: %v, want net.ErrClosed", err)
		}
	}
	if conn.LocalAddr().String() != local || conn.RemoteAddr().String() != remote {
		r.t.Errorf("addresses %v and %v of the handle, %v and %v before", conn.LocalAddr(), conn.RemoteAddr(), local,
			remote)
	}
	if again, err := r.w.Attach(own); again != nil || err != aio.ErrClosed {
		r.t.Errorf("Attach for the second time: %v, %v; want ErrClosed", again, err)
	}
	r.works(conn, peer)
	Must(r.t, conn.Close())
	r.delivered(sink(peer), nil)
}

// structConn has no method SyscallConn.
type structConn struct{ net.Conn }

// attachRefused: the caller keeps what has no descriptor, is closed, or has datagrams.
func attachRefused(r *rig) {
	own, peer := r.raw()
	pipe, end := net.Pipe()
	defer func() { _, _ = pipe.Close(), end.Close() }()
	for _, c := range []net.Conn{nil, (*net.TCPConn)(nil), (*Conn)(nil), structConn{own}, pipe} {
		if got, err := r.w.Attach(c); got != nil || err != aio.ErrNoDescriptor {
			r.t.Errorf("Attach of %T(%v): %v, %v; want ErrNoDescriptor", c, c, got, err)
		}
	}
	go func() { _, _ = peer.Write([]byte("ok")) }()
	if _, err := io.ReadFull(own, make([]byte, 2)); err != nil {
		r.t.Error("Read of a refused connection:", err)
	}
	_ = own.Close()
	if c, err := r.w.Attach(own); c != nil || err != aio.ErrClosed {
		r.t.Errorf("Attach of a closed connection: %v, %v; want ErrClosed", c, err)
	}
	if !r.sys.Bubble { // nothing in memory has datagrams
		r.attachDatagrams()
	}
	if s := r.w.Stats(); s.Conns != 0 {
		r.t.Errorf("a refused connection is attached: %+v", s)
	}
}

func (r *rig) attachDatagrams() {
	r.t.Helper()
	a, err := net.ListenPacket("udp", "127.0.0.1:0")
	Must(r.t, err)
	defer func() { _ = a.Close() }()
	c, err := net.Dial("udp", a.LocalAddr().String())
	Must(r.t, err)
	defer func() { _ = c.Close() }()
	if conn, err := r.w.Attach(c); conn != nil || err != aio.ErrDatagram {
		r.t.Errorf("Attach of a UDP connection: %v, %v; want ErrDatagram", conn, err)
	}
	if _, err := c.Write([]byte("x")); err != nil {
		r.t.Error("Write of a refused connection:", err)
	}
}

// refusedAtOnce: the next WaitIO returns an operation that is wrong by itself. It never begins.
func refusedAtOnce(r *rig) {
	conn, _ := r.pair()
	for _, deadline := range []time.Time{{}, time.Now().Add(time.Hour)} {
		r.refuse(aio.ErrEmptyBuffer,
			ticket{op: aio.OpWrite, conn: conn, deadline: deadline},
			ticket{op: aio.OpWrite, conn: conn, buf: []byte{}, deadline: deadline},
			ticket{conn: conn, full: true, deadline: deadline},
			ticket{conn: conn, full: true, buf: []byte{}, deadline: deadline},
			ticket{conn: conn, buf: []byte{}, deadline: deadline})
	}
	for _, op := range []aio.Op{aio.OpRead, aio.OpWrite} {
		if _, err := r.submit(ticket{op: op, conn: new(aio.Conn), buf: []byte{1}}); err != aio.ErrClosed {
			r.t.Errorf("operation on a zero Conn: %v, want ErrClosed", err)
		}
	}
	if err := new(aio.Conn).Close(); err != nil {
		r.t.Errorf("Close of a zero Conn: %v", err)
	}
	if s := r.w.Stats(); s.Pending != 0 {
		r.t.Errorf("a refused operation is pending: %+v", s)
	}
}

// fifo: operations of a direction end in the order of their submission, each with its part.
func fifo(r *rig) {
	conn, peer := r.pair()
	rng := rand.New(rand.NewPCG(1, 1))
	var reads, writes []*ticket
	in, out := 0, 0
	for range 200 {
		n := 1 + rng.IntN(500)
		reads = append(reads, r.readFull(conn, n, time.Time{}))
		in += n
		n = 1 + rng.IntN(500)
		writes = append(writes, r.write(conn, pattern(2, out, n)))
		out += n
	}
	go func() { _, _ = peer.Write(pattern(1, 0, in)) }()
	got := sink(peer)
	at := 0
	for _, k := range reads {
		r.brings(k, pattern(1, at, len(k.buf)))
		at += len(k.buf)
	}
	r.allSent(writes...)
	Must(r.t, conn.Close())
	r.delivered(got, pattern(2, 0, out))
}

// maxQueued: the Watcher refuses one operation more than MaxQueued, until one was returned.
func maxQueued(r *rig) {
	const limit = 4
	r.open(aio.Options{MaxQueued: limit})
	conn, peer := r.pair()
	other, _ := r.pair()
	var ks []*ticket
	for range limit {
		ks = append(ks, r.read(conn, 1))
	}
	refused := func() {
		r.t.Helper()
		r.refuse(aio.ErrQueueFull,
			ticket{conn: conn, buf: make([]byte, 1)}, ticket{conn: conn},
			ticket{conn: conn, op: aio.OpWrite, buf: []byte{1}})
	}
	refused()
	pending := r.read(other, 1) // another connection has a limit of its own
	r.idle(soon)
	refused()
	for i := range byte(10) {
		r.send(peer, []byte{i})
		r.brings(ks[0], []byte{i})
		ks = append(ks[1:], r.read(conn, 1))
		refused()
	}
	r.wantPending(append(ks, pending)...)
}

// wakes: a WaitIO that waits returns what another goroutine begins, ends, or gives an earlier
// deadline.
func wakes(r *rig) {
	submit := func(k ticket) *ticket {
		got, err := r.submit(k)
		if err != nil {
			r.t.Error(err)
			_ = r.w.Close() // so that WaitIO returns
		}
		return got
	}
	for what, act := range map[string]struct {
		do  func(pending *ticket) *ticket // returns the operation that is over soon
		err error
	}{
		"Write": {func(k *ticket) *ticket {
			return submit(ticket{op: aio.OpWrite, conn: k.conn, buf: []byte("x")})
		}, nil},
		"Post":             {func(*ticket) *ticket { return submit(ticket{op: aio.OpPost}) }, nil},
		"CloseAfterWrites": {func(k *ticket) *ticket { return submit(ticket{op: aio.OpClose, conn: k.conn}) }, nil},
		"CloseAfterWrites, late": {func(k *ticket) *ticket {
			return submit(ticket{op: aio.OpClose, conn: k.conn, deadline: time.Now().Add(-time.Hour)})
		}, nil},
		"earlier deadline": {func(k *ticket) *ticket {
			return submit(ticket{conn: k.conn, buf: make([]byte, 1), deadline: time.Now().Add(soon)})
		}, aio.ErrDeadline},
		"SetDeadline": {func(k *ticket) *ticket {
			r.wantFound(r.moved(k, time.Now().Add(soon)), 1)
			return k
		}, aio.ErrDeadline},
		"Cancel": {func(k *ticket) *ticket { r.wantFound(r.cancelled(k), 1); return k }, aio.ErrCancelled},
		"Close":  {func(k *ticket) *ticket { _ = k.conn.Close(); return k }, aio.ErrClosed},
	} {
		for range 5 {
			conn, _ := r.pair()
			pending := r.must(ticket{conn: conn, buf: make([]byte, 1), deadline: time.Now().Add(time.Hour)})
			var k *ticket
			done := r.whileWaiting(func() { k = act.do(pending) })
			r.results()
			done()
			r.until(k)
			if k.result.Error != act.err {
				r.t.Errorf("%s: %v, want %v", what, k.result.Error, act.err)
			}
			_ = conn.Close()
			r.until(pending)
		}
	}
}

// submissionBeforeWaiting: WaitIO begins what another goroutine submits at any moment before it
// waits.
func submissionBeforeWaiting(r *rig) {
	const rounds = 30 // up to 10 ms each, as it spins: the runtime looks for events then
	w := r.w
	var returned, spin atomic.Int32
	var failed atomic.Bool
	ended := make(chan struct{})
	rng := rand.New(rand.NewPCG(1, 6))
	go func() {
		defer close(ended)
		for i := range int32(rounds) {
			// It does not block until WaitIO returns, which would be waiting again by then.
			for spins := 0; returned.Load() < i && !failed.Load(); spins++ {
				if spins > 1000 {
					runtime.Gosched()
				}
			}
			for range rng.IntN(300) { // some moments later
				spin.Add(1)
			}
			_ = w.Post(nil)
		}
	}()
	watchdog := time.AfterFunc(stuck, func() {
		r.t.Errorf("WaitIO has returned nothing for %v: a submission is lost", stuck)
		failed.Store(true)
		_ = w.Close()
	})
	defer watchdog.Stop()
	for range rounds {
		if _, err := w.WaitIO(); err != nil {
			break
		}
		returned.Add(1)
	}
	<-ended
	r.open(aio.Options{}) // for the ledger, which has none of these
}

// concurrentWaitIO: while one goroutine is in WaitIO, others get ErrWaiting and take no result of
// it.
func concurrentWaitIO(r *rig) {
	conn, peer := r.pair()
	for i := range byte(5) {
		k := r.readSwap(conn)
		done := r.whileWaiting(func() {
			for range 3 {
				if results, err := r.w.WaitIO(); results != nil || err != aio.ErrWaiting {
					r.t.Errorf("a second WaitIO: %v, %v; want ErrWaiting", results, err)
				}
			}
			_, _ = peer.Write([]byte{i})
		})
		r.results()
		done()
		r.wantData(k, []byte{i})
	}
}

// posts: a Post is over at once, whatever is pending, in the order of the submissions. The Watcher
// refuses one more than MaxQueued, until they were returned.
func posts(r *rig) {
	const limit = 4
	r.open(aio.Options{MaxQueued: limit})
	conn, _ := r.pair()
	pending := r.read(conn, 1)
	for range 3 {
		var ks []*ticket
		for range limit {
			ks = append(ks, r.must(ticket{op: aio.OpPost}))
		}
		ks = append(ks, r.write(conn, []byte("x")))
		r.refuse(aio.ErrQueueFull, ticket{op: aio.OpPost})
		r.until(ks...)
	}
	r.wantPending(pending)
}
