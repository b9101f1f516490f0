package aiosuite

import (
	"log/slog"
	"time"

	"evenkeel.dev/aio"
)

// wantQueued checks Stats.QueuedBytes.
func (r *rig) wantQueued(want int) {
	r.t.Helper()
	if s := r.w.Stats(); s.QueuedBytes != int64(want) {
		r.t.Errorf("%d bytes are queued, want %d", s.QueuedBytes, want)
	}
}

// wantFull checks that a write of a byte to each of conns is refused, by Writev too.
func (r *rig) wantFull(conns ...*aio.Conn) {
	r.t.Helper()
	var ks []ticket
	for _, c := range conns {
		buf := make([]byte, 1)
		ks = append(ks,
			ticket{op: aio.OpWrite, conn: c, buf: buf}, ticket{op: aio.OpWrite, conn: c, buf: buf, vec: cut(buf, 1)})
	}
	r.refuse(aio.ErrQueueFull, ks...)
}

// maxQueuedBytes: the Watcher refuses writes beyond the limit, until one was returned. It never
// refuses the first.
func maxQueuedBytes(r *rig) {
	const limit = 1000
	r.open(aio.Options{MaxQueuedBytes: limit})
	conn, peer := r.pair()
	large := r.write(conn, pattern(1, 0, r.large))
	r.wantFull(conn)
	r.wantQueued(r.large)
	other, _ := r.pair()
	ks := []*ticket{r.write(other, make([]byte, 600)), r.write(other, make([]byte, 400), 7)}
	r.wantFull(other)
	r.read(other, 10*limit) // reads do not count
	r.until(ks...)
	r.wantQueued(r.large)
	r.until(r.write(other, make([]byte, limit)))
	got := sink(peer)
	r.until(large)
	r.until(r.write(conn, []byte("x")))
	r.wantQueued(0)
	_ = conn.Close()
	r.delivered(got, append(large.buf, 'x'))
}

// maxWatcherBytes: the same for all connections together. A Close gives the bytes back.
func maxWatcherBytes(r *rig) {
	r.open(aio.Options{MaxQueuedBytes: 1 << 40, MaxWatcherBytes: int64(r.large) + 10})
	conn, _ := r.pair()
	other, _ := r.pair()
	large := r.write(conn, make([]byte, r.large))
	small := r.write(other, make([]byte, 10), 3)
	r.wantQueued(r.large + 10)
	r.wantFull(other, conn)
	r.until(small)
	_ = conn.Close()
	r.until(large)
	r.wantQueued(0)
	r.until(r.write(other, make([]byte, r.large+10)[:20]))
}

// maxConnections: Attach and Dial refuse one connection more, until another one was closed.
func maxConnections(r *rig) {
	r.open(aio.Options{MaxConns: 2})
	conn, _ := r.pair()
	r.pair()
	own, peer := r.raw()
	if c, err := r.w.Attach(own); c != nil || err != aio.ErrTooManyConns {
		r.t.Errorf("Attach of the third: %v, %v; want ErrTooManyConns", c, err)
	}
	l, _ := r.listener()
	r.refuse(aio.ErrTooManyConns, ticket{op: aio.OpDial, to: l.Addr()})
	_ = conn.Close()
	c, err := r.w.Attach(own)
	Must(r.t, err)
	r.works(c, peer)
}

// atMaxConns returns a test of an accept that waits at MaxConns, until release has freed a
// connection.
func atMaxConns(multishot bool, release func(*rig, *aio.Conn) error) func(*rig) {
	return func(r *rig) {
		r.open(aio.Options{MaxConns: 2, Logger: slog.New(slog.DiscardHandler)})
		attached, _ := r.pair()
		l, dial := r.listener()
		dial()
		last := dial()
		k := r.must(ticket{op: aio.OpAccept, listener: l, multishot: multishot})
		if multishot {
			r.brought(k, 1)
		} else {
			r.accepted(k)
			k = r.accept(l)
		}
		var err error
		done := r.afterStall(func() { err = release(r, attached) })
		var conn *aio.Conn
		if multishot {
			conn = r.brought(k, 2)[1]
			r.wantPending(k)
		} else {
			conn = r.accepted(k)
		}
		done()
		Must(r.t, err)
		r.works(conn, last)
		if s := r.w.Stats(); s.Conns != 2 || s.Accepted != 2 {
			r.t.Errorf("%+v; want two connections, both accepted", s)
		}
	}
}

func closeConn(_ *rig, conn *aio.Conn) error { return conn.Close() }

func detachConn(r *rig, conn *aio.Conn) error {
	_, err := r.detached(conn)
	return err
}

// late: Stats says how long after their deadlines operations ended.
func late(r *rig) {
	conn, _ := r.pair()
	past := r.must(ticket{conn: conn, buf: make([]byte, 1), deadline: time.Now().Add(-time.Hour)})
	r.until(past)
	first := r.w.Stats()
	if first.Expired != 1 || first.LateMax > 30*time.Minute || first.Late != first.LateMax {
		r.t.Errorf("a deadline that had passed when it was submitted: %+v", first)
	}
	start := time.Now()
	k := r.must(ticket{conn: conn, buf: make([]byte, 1), deadline: start.Add(soon)})
	for time.Since(start) < 3*soon {
		time.Sleep(soon) // nobody is in WaitIO
	}
	r.until(k)
	s := r.w.Stats()
	if second := s.Late - first.Late; s.Expired != 2 || second < soon || second > time.Since(start) ||
		s.LateMax != max(first.LateMax, second) {
		r.t.Errorf("a deadline that passed while nobody waited: %+v, before it %+v", s, first)
	}
}
