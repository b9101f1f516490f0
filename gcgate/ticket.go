package gcgate

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// A Ticket stands for a request in flight, from [Gate.Enter] to Exit.
type Ticket struct{ s *shard }

// Exit ends the request. Call it exactly once, from any goroutine.
func (t Ticket) Exit() { t.s.n.Add(^uint64(0)) }

// shard counts the requests of about one P in one word, so that Enter and Exit are one atomic
// operation each on a cache line that is seldom another core's:
//
//	63        32 31         0
//	+-----------+-----------+
//	| entered   | in flight |   entered wraps around; in flight never underflows
//	+-----------+-----------+
type shard struct {
	n atomic.Uint64
	_ [120]byte // two cache lines: the prefetcher takes them in pairs
}

const oneEntered = 1<<32 + 1

// counter counts requests. A sync.Pool hands the shards out: it keeps one a P. What it drops
// is handed out again in turn, so the shards stay few.
type counter struct {
	shards []shard
	next   atomic.Uint32
	pool   sync.Pool // of *shard
}

func newCounter() *counter {
	c := &counter{shards: make([]shard, runtime.GOMAXPROCS(0))}
	c.pool.New = func() any { return &c.shards[int(c.next.Add(1))%len(c.shards)] }
	return c
}

func (c *counter) enter() Ticket {
	s := c.pool.Get().(*shard)
	s.n.Add(oneEntered)
	c.pool.Put(s)
	return Ticket{s}
}

// read returns the requests in flight, and a count of all that entered, modulo 2^32. It is no
// snapshot: a request that enters meanwhile may be missing.
func (c *counter) read() (inFlight int, entered uint32) {
	for i := range c.shards {
		n := c.shards[i].n.Load()
		inFlight += int(uint32(n))
		entered += uint32(n >> 32)
	}
	return inFlight, entered
}
