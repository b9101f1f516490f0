package aiosuite

import (
	"io"
	"log/slog"
	"net"
	"slices"
	"time"

	"evenkeel.dev/aio"
)

// swapBuffer: a read without a buffer gets a part of the Watcher's. It is valid until the next
// WaitIO.
func swapBuffer(r *rig) {
	conn, peer := r.pair()
	all := pattern(9, 0, 200)
	r.send(peer, all)
	var got []byte
	r.readSwap(conn)
	for len(got) < len(all) {
		results := r.results()
		if len(results) != 1 || !results[0].Swap || len(results[0].Buffer) != results[0].Size {
			r.t.Fatalf("%+v, want one swap buffer of its size", results)
		}
		kept := slices.Clone(results[0].Buffer)
		got = append(got, kept...)
		r.readSwap(conn) // does not touch it before WaitIO
		r.same("until the next WaitIO", results[0].Buffer, kept)
	}
	r.same("swap buffers", got, all)
	_ = closeWrite(peer)
	r.ends(r.readSwap(conn), 0, io.EOF)
}

// swapBufferLimited: a read brings no more than its tag says, also next to the end of the swap
// memory. The next read gets the rest.
func swapBufferLimited(r *rig) {
	r.open(aio.Options{SwapSize: 1 << 10})
	conn, peer := r.pair()
	for round := range 20 {
		all := pattern(round, 0, 4000)
		r.send(peer, all)
		var got []byte
		for len(got) < len(all) {
			k := r.must(ticket{conn: conn, limit: 100 * (len(got) % 3)})
			r.until(k)
			if k.result.Error != nil || k.limit > 0 && k.result.Size > k.limit {
				r.t.Fatalf("%d bytes, %v; want up to %d", k.result.Size, k.result.Error, k.limit)
			}
			got = append(got, k.data...)
		}
		r.same("limited reads", got, all)
	}
}

// swapBufferFull: the reads of one WaitIO share the swap buffer. A read that finds it full waits
// for the next WaitIO.
func swapBufferFull(r *rig) {
	const size, conns, each = 64, 12, 40
	r.open(aio.Options{SwapSize: size})
	got := map[*aio.Conn][]byte{}
	data := map[*aio.Conn][]byte{}
	for i := range conns {
		conn, peer := r.pair()
		data[conn] = pattern(i, 0, each)
		r.send(peer, data[conn])
	}
	for pending := conns; pending > 0; {
		pending = 0
		for conn := range data {
			if len(got[conn]) < each {
				r.readSwap(conn)
				pending++
			}
		}
		for left := pending; left > 0; {
			results := r.results()
			left -= len(results)
			used := 0
			for _, res := range results { // all are read by now: they must not overlap
				at := len(got[res.Conn])
				r.same("a swap buffer", res.Buffer, data[res.Conn][at:at+res.Size])
				got[res.Conn] = append(got[res.Conn], res.Buffer...)
				used += res.Size
			}
			if used > 2*size { // a read that ends with a part of it gets another buffer for the rest
				r.t.Errorf("%d bytes in a swap buffer of %d", used, size)
			}
		}
	}
	if s := r.w.Stats(); s.SwapFull == 0 && !r.sys.Faulty {
		r.t.Errorf("%d bytes in one WaitIO, a swap buffer of %d, and it was never full: %+v", conns*each, size, s)
	}
}

// swapBufferFair: a read that found the swap buffer full has its turn before later ones, each of
// which would fill it.
func swapBufferFair(r *rig) {
	const size = 8
	turns := 10
	if r.sys.Faulty {
		turns = 250 // its own transfers are late, and the others go on
	}
	r.open(aio.Options{SwapSize: size})
	busy := map[*aio.Conn]bool{}
	for i := range 3 {
		conn := r.pairWith(pattern(i, 0, 4*turns*size))
		busy[conn] = true
		r.readSwap(conn)
	}
	conn := r.pairWith([]byte("me"))
	k := r.readSwap(conn)
	for range turns {
		for _, res := range r.results() {
			if busy[res.Conn] {
				r.readSwap(res.Conn)
			}
		}
		if r.times(k) > 0 {
			return
		}
	}
	r.t.Errorf("a read without a buffer had no turn in %d WaitIO: %+v", turns, r.w.Stats())
}

// swapBufferInTurn: the peers of many connections send the next message as soon as one was read. No
// connection gets far ahead of another.
func swapBufferInTurn(r *rig) {
	if r.sys.Faulty || r.w.Stats().Backend == "fake "+Completion.String() {
		return // a read may take longer than it must; that backend is asked anew, behind what it has
	}
	const conns, each, size, ahead = 100, 10, 1000, 2
	r.open(aio.Options{SwapSize: 16 << 10})
	type stream struct {
		peer    net.Conn
		arrived func(int)
		got     int
	}
	streams := map[*aio.Conn]*stream{}
	next := func(conn *aio.Conn, s *stream) {
		r.send(s.peer, make([]byte, size))
		s.arrived(size)
		r.readSwap(conn)
	}
	for range conns {
		conn, peer, arrived := r.pairThatTells()
		streams[conn] = &stream{peer: peer, arrived: arrived}
		next(conn, streams[conn])
	}
	behind := map[int]int{0: conns} // how many connections have got so many messages
	least, most := 0, 0
	for least < each {
		for _, res := range r.results() {
			if res.Error != nil {
				r.t.Fatal(res.Error)
			}
			s := streams[res.Conn]
			behind[s.got]--
			s.got++
			behind[s.got]++
			for behind[least] == 0 {
				least++
			}
			most = max(most, s.got-least)
			next(res.Conn, s)
		}
	}
	if most > ahead {
		r.t.Errorf("a connection got %d messages more than another, want %d at most", most, ahead)
	}
}

// swapBufferLate: a read without a buffer gets one when its data arrives, not before.
func swapBufferLate(r *rig) {
	r.open(aio.Options{SwapSize: 32})
	for range 50 { // all wait, and leave the buffer to the one that has data
		conn, _ := r.pair()
		r.must(ticket{conn: conn, deadline: time.Now().Add(time.Hour)})
	}
	conn, peer := r.pair()
	k := r.readSwap(conn)
	r.idle(soon)
	r.wantPending(k)
	r.send(peer, []byte("0123456789012345678901234567"))
	r.until(k)
	if !k.result.Swap || k.result.Size == 0 {
		r.t.Errorf("%+v, want a swap buffer", k.result)
	}
}

// swapBufferWhole: one read gets a message of up to half the swap buffer, wherever in it the last
// one ended, and however many connections share it.
func swapBufferWhole(r *rig) {
	if r.sys.Faulty {
		return // its reads end short
	}
	const conns, swap = 40, 8 << 10
	r.open(aio.Options{SwapSize: swap})
	for round, size := range []int{100, 1000, swap / 3, swap/2 - 1, swap / 2} {
		var ks []*ticket
		for i := range conns {
			conn, peer, arrived := r.pairThatTells()
			r.send(peer, pattern(i, round, size))
			arrived(size)
			ks = append(ks, r.readSwap(conn))
			if i%2 == 0 { // alone
				r.until(ks...)
			}
		}
		for i, k := range ks {
			r.brings(k, pattern(i, round, size))
		}
	}
}

// swapBufferReadByClose: Close of a connection begins operations of others. What they read stays
// valid until WaitIO has returned it.
func swapBufferReadByClose(r *rig) {
	a, aPeer := r.pair()
	b, bPeer := r.pair()
	other, _ := r.pair()
	r.send(aPeer, []byte("aaaa"))
	r.send(bPeer, []byte("bbbb"))
	first := r.readSwap(a)
	Must(r.t, other.Close())
	second := r.readSwap(b)
	r.until(first, second)
	r.same("the first read", first.data, []byte("aaaa")[:first.result.Size])
	r.same("the second read", second.data, []byte("bbbb")[:second.result.Size])
}

const (
	queuedConns, queuedEach = 20, 100
	queuedSize              = 40  // bytes of a write: TCP has room for all of them
	queuedBefore            = 600 // two turns, and some
)

// queued submits thousands of writes on many connections. The peers have room for all of them.
func (r *rig) queued() (ks []*ticket) {
	conns := make([]*aio.Conn, queuedConns)
	for i := range conns {
		var peer net.Conn
		conns[i], peer = r.pair()
		sink(peer)
	}
	each := queuedEach
	if r.sys.Faulty { // nothing is counted
		each /= 5
	}
	for _, conn := range conns {
		for range each {
			ks = append(ks, r.write(conn, make([]byte, queuedSize)))
		}
	}
	return ks
}

// soonBeside waits for k, and then for the others. Most of them must not end before k.
func (r *rig) soonBeside(k *ticket, others []*ticket) {
	r.t.Helper()
	r.until(k)
	before := 0
	for _, other := range others {
		before += r.times(other)
	}
	if before > queuedBefore && !r.sys.Faulty {
		r.t.Errorf("%d operations of other connections were over before one that was submitted after all %d, want "+
			"%d at most", before, len(others), queuedBefore)
	}
	r.until(others...)
}

// besideQueued: a write, reads of data that is there, and a connection that is attached later do
// not wait for all that other connections have queued before.
func besideQueued(r *rig) {
	conn, peer := r.pair()
	r.sendThere(conn, peer, []byte("xy"))
	for _, submit := range []func() *ticket{
		func() *ticket { return r.write(conn, []byte("x")) },
		func() *ticket { return r.read(conn, 1) },
		func() *ticket { return r.readSwap(conn) },
		func() *ticket {
			r.results() // the others have begun
			return r.read(r.pairWith([]byte("x")), 1)
		},
	} {
		others := r.queued()
		r.soonBeside(submit(), others)
	}
}

// pingBesideBulk: the next two turns read what has arrived for one connection, though another one
// is read all the time, with a buffer that takes all that is there.
func pingBesideBulk(r *rig) {
	const pings, most = 20, 3
	bulk, bulkPeer := r.pair()
	go func() {
		for {
			if _, err := bulkPeer.Write(make([]byte, r.large)); err != nil {
				return
			}
		}
	}()
	conn, peer, arrived := r.pairThatTells()
	r.read(bulk, r.large)
	for i := range pings {
		k := r.read(conn, 100)
		ping := pattern(i, 0, 64)
		r.send(peer, ping)
		arrived(len(ping))
		waits := 0
		for ; r.times(k) == 0; waits++ {
			for _, res := range r.results() {
				if res.Conn == bulk {
					r.read(bulk, r.large)
				}
			}
		}
		if waits > most && !r.sys.Faulty {
			r.t.Errorf("a ping came with WaitIO %d beside one that is read all the time, want %d at most", waits, most)
		}
		if !r.sys.Faulty {
			r.wantData(k, ping)
		}
	}
}

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
