package aiosuite

import (
	"net"
	"time"

	"evenkeel.dev/aio"
)

var fairTests = []test{
	{"WriteBesideQueued", writeBesideQueued, false},
	{"ReadBesideQueued", readBesideQueued, false},
	{"NewConnBesideQueued", newConnBesideQueued, false},
	{"PingBesideBulk", pingBesideBulk, false},
	{"BulkBesideBulk", bulkBesideBulk, false},
}

const (
	queuedConns, queuedEach = 20, 100
	queuedSize              = 40  // bytes of a write: TCP has room for all of them
	queuedBefore            = 600 // two turns, and some
)

// queued submits writes on many connections, thousands in sum, all of which the peers have room for.
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

// soonBeside waits until k is back, and then the others: not most of them may come before.
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

// writeBesideQueued: a write does not wait for all that others have queued before.
func writeBesideQueued(r *rig) {
	conn, _ := r.pair()
	others := r.queued()
	r.soonBeside(r.write(conn, []byte("x")), others)
}

// readBesideQueued: nor does a read of what is there, whether it brings a buffer or none.
func readBesideQueued(r *rig) {
	conn, peer := r.pair()
	r.sendThere(conn, peer, []byte("xy"))
	others := r.queued()
	r.soonBeside(r.read(conn, 1), others)
	others = r.queued()
	r.soonBeside(r.readSwap(conn), others)
}

// newConnBesideQueued: nor does a connection that comes while they are begun.
func newConnBesideQueued(r *rig) {
	others := r.queued()
	if _, err := r.wait(); err != nil {
		r.t.Fatal(err)
	}
	conn := r.pairWith([]byte("x"))
	r.soonBeside(r.read(conn, 1), others)
}

// pingBesideBulk: what has come for one connection is read in the next two turns, though another
// one is read as fast as it can be, with a buffer that takes all that is there.
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
			results, err := r.wait()
			if err != nil {
				r.t.Fatal(err)
			}
			for _, res := range results {
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

// bulkBesideBulk: connections that move as much as they can in both directions have like shares of it: none is
// done before the others have begun.
func bulkBesideBulk(r *rig) {
	const conns = 4
	total := 2 * r.large
	var reads, writes [conns]*ticket
	for i := range conns {
		conn, peer := r.pair()
		go func() { _, _ = peer.Write(make([]byte, total)) }()
		sink(peer)
		reads[i] = r.readFull(conn, total, time.Time{})
		writes[i] = r.write(conn, make([]byte, total))
	}
	r.until(reads[:]...)
	r.until(writes[:]...)
}
