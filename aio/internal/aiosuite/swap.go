package aiosuite

import (
	"net"
	"slices"
	"time"

	"evenkeel.dev/aio"
)

var swapTests = []test{
	{"SwapBuffer", swapBuffer, false},
	{"SwapBufferFull", swapBufferFull, false},
	{"SwapBufferFair", swapBufferFair, false},
	{"SwapBufferInTurn", swapBufferInTurn, false},
	{"SwapBufferLate", swapBufferLate, false},
	{"SwapBufferWhole", swapBufferWhole, false},
	{"SwapBufferWholeOfMany", swapBufferWholeOfMany, false},
	{"SwapBufferReadByClose", swapBufferReadByClose, false},
	{"SwapBufferLimited", swapBufferLimited, false},
}

// swapBuffer: a read without a buffer gets a part of the watcher's, valid until the next WaitIO.
func swapBuffer(r *rig) {
	conn, peer := r.pair()
	all := pattern(9, 0, 200)
	r.send(peer, all)
	var got []byte
	for len(got) < len(all) {
		r.readSwap(conn)
		results, err := r.wait()
		if err != nil || len(results) != 1 {
			r.t.Fatal(results, err)
		}
		res := results[0]
		if !res.Swap || len(res.Buffer) != res.Size {
			r.t.Errorf("%+v, want a swap buffer of its size", res)
		}
		kept := slices.Clone(res.Buffer)
		if len(got)+len(kept) < len(all) {
			r.readSwap(conn) // does not touch it before WaitIO
			r.same("until the next WaitIO", res.Buffer, kept)
			got = append(got, kept...)
			results, err = r.wait()
			if err != nil || len(results) != 1 {
				r.t.Fatal(results, err)
			}
			kept = slices.Clone(results[0].Buffer)
		}
		got = append(got, kept...)
	}
	r.same("swap buffers", got, all)
	_ = closeWrite(peer)
	k := r.readSwap(conn)
	r.until(k)
	if k.result.Size != 0 || len(k.result.Buffer) != 0 || k.result.Error == nil {
		r.t.Errorf("at the end: %+v", k.result)
	}
}

// swapBufferLimited: a read brings no more than its tag says, also where the end of the swap memory
// comes before, and what is left is there for the next one.
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

// swapBufferFull: the reads of one WaitIO share it; those that find it full wait for the next one,
// and nothing is lost.
func swapBufferFull(r *rig) {
	const size, conns, each = 64, 12, 40
	r.open(aio.Options{SwapSize: size})
	type stream struct {
		conn *aio.Conn
		k    *ticket
		got  []byte
	}
	streams := make([]*stream, conns)
	at := map[*aio.Conn]int{}
	for i := range streams {
		conn, peer := r.pair()
		r.send(peer, pattern(i, 0, each))
		streams[i] = &stream{conn: conn}
		at[conn] = i
	}
	for {
		open := 0
		for _, s := range streams {
			if len(s.got) < each {
				s.k = r.readSwap(s.conn)
				open++
			}
		}
		if open == 0 {
			break
		}
		for open > 0 {
			results, err := r.wait()
			if err != nil {
				r.t.Fatal(err)
			}
			open -= len(results)
			used := 0
			for _, res := range results { // after all of them were read: they must not overlap
				s := streams[at[res.Conn]]
				r.same("a swap buffer", res.Buffer, pattern(at[res.Conn], len(s.got), res.Size))
				s.got = append(s.got, res.Buffer...)
				used += res.Size
			}
			if used > 2*size { // those that end with a part of it are joined elsewhere with what follows
				r.t.Errorf("%d bytes in a swap buffer of %d", used, size)
			}
		}
	}
	for i, s := range streams {
		r.same("all of a stream", s.got, pattern(i, 0, each))
	}
	if s := r.w.Stats(); s.SwapFull == 0 && !r.sys.Faulty {
		r.t.Errorf("%d bytes in one WaitIO, a swap buffer of %d, and it was never full: %+v", conns*each, size, s)
	}
}

// swapBufferFair: a read that found it full has its turn before those that are submitted later,
// each of which would fill it: those before it have had theirs by then.
func swapBufferFair(r *rig) {
	const size = 8
	turns := 10
	if r.sys.Faulty {
		turns = 250 // its own transfers are late, and the others' go on meanwhile
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
		results, err := r.wait()
		if err != nil {
			r.t.Fatal(err)
		}
		for _, res := range results {
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

// swapBufferInTurn: of many connections that have the next message as soon as one was read, none
// gets far ahead of another.
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
		results, err := r.wait()
		if err != nil {
			r.t.Fatal(err)
		}
		for _, res := range results {
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

// swapBufferLate: a read without a buffer that had to wait gets one when there is data, not before.
func swapBufferLate(r *rig) {
	r.open(aio.Options{SwapSize: 32})
	for range 50 { // all wait, and the buffer is none too small for the one that is served
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

// swapBufferWhole: what came whole is read whole, up to half of the swap buffer, wherever in it that stands.
func swapBufferWhole(r *rig) {
	if r.sys.Faulty {
		return // its reads end short
	}
	conn, peer, arrived := r.pairThatTells()
	for _, size := range []int{100, 1000, 4000, 8000, 8 << 10, 30_000, 32 << 10} {
		if size > r.large/16 {
			break // the connection does not take it at once
		}
		for i := range 30 {
			data := pattern(size, i, size)
			r.send(peer, data)
			arrived(size)
			k := r.readSwap(conn)
			r.until(k)
			if r.wantData(k, data); k.result.Size != size {
				return // the rest would come with the next
			}
		}
	}
}

// swapBufferWholeOfMany: so it is of connections that share the swap buffer.
func swapBufferWholeOfMany(r *rig) {
	if r.sys.Faulty {
		return
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
		}
		for i, k := range ks {
			r.until(k)
			r.wantData(k, pattern(i, round, size))
		}
	}
}

// pairThatTells is pair; arrived waits until n bytes are there to be read.
func (r *rig) pairThatTells() (conn *aio.Conn, peer net.Conn, arrived func(n int)) {
	r.t.Helper()
	own, peer := r.raw()
	arrived = Arrival(r.t, own)
	conn, err := r.w.Attach(own)
	Must(r.t, err)
	return conn, peer, arrived
}

// swapBufferReadByClose: Close of a connection begins what was submitted before; what that reads stays until WaitIO
// has returned it.
func swapBufferReadByClose(r *rig) {
	a, aPeer := r.pair()
	b, bPeer := r.pair()
	other, _ := r.pair()
	r.send(aPeer, []byte("aaaa"))
	r.send(bPeer, []byte("bbbb"))
	first := r.readSwap(a)
	if err := other.Close(); err != nil {
		r.t.Error(err)
	}
	second := r.readSwap(b)
	r.until(first, second)
	r.same("the first read", first.data, []byte("aaaa")[:first.result.Size])
	r.same("the second read", second.data, []byte("bbbb")[:second.result.Size])
}
