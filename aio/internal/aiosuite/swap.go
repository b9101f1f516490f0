package aiosuite

import (
	"io"
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
