package aiosuite

import (
	"net"

	"evenkeel.dev/aio"
)

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
