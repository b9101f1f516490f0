package gcgate

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const leastGap = 100 * time.Millisecond

// traffic is what the control goroutine knows of the requests. It alone uses the fields below the
// counter, and looks at the counter up to a thousand times a second. Any goroutine enters and exits
// by one atomic operation.
type traffic struct {
	*counter

	// As of the last look.
	looked   time.Time
	inFlight int
	entered  uint32 // modulo 2^32
	total    uint64 // since the start

	rate float64

	silentSince time.Time
	changed     time.Time

	// Cycles of others are over when the gate notices them, so overlappedOther is an estimate.
	overlapHalves   uint64 // twice the overlaps with the gate's cycles
	overlappedOther float64
	totalBefore     uint64
	marked          time.Duration
}

func (t *traffic) look(now time.Time) {
	inFlight, entered := t.read()
	came, dt := entered-t.entered, now.Sub(t.looked)
	if dt > 0 && !t.looked.IsZero() {
		t.rate += (float64(came)/dt.Seconds() - t.rate) * -math.Expm1(-dt.Seconds())
	}
	if came > 0 || inFlight > 0 || dt > longestLook { // after a stall requests wait in sockets
		t.silentSince = time.Time{}
	}
	if inFlight == 0 && t.silentSince.IsZero() {
		t.silentSince = now
	}
	if came > 0 || inFlight != t.inFlight {
		t.changed = now
	}
	t.total += uint64(entered - uint32(t.total))
	t.looked, t.inFlight, t.entered = now, inFlight, entered
}

func (t *traffic) silence() time.Duration {
	if t.silentSince.IsZero() {
		return 0
	}
	return t.looked.Sub(t.silentSince)
}

func (t *traffic) unchanged() time.Duration { return t.looked.Sub(t.changed) }

// running is how many requests were in flight before.
func (t *traffic) overlapOther(cycles uint64, marked time.Duration, running int) {
	came := min(float64(t.total-t.totalBefore), max(marked-t.marked, 0).Seconds()*t.rate)
	t.overlappedOther += float64(cycles)*float64(running) + came
}

func (t *traffic) cycleEnded(marked time.Duration) { t.totalBefore, t.marked = t.total, marked }

func (t *traffic) overlapOwn(inFlight int, entered, lately uint32) (n uint64) {
	before := t.overlapped()
	t.overlapHalves += 2*(uint64(inFlight)+uint64(entered)) + uint64(lately)
	return t.overlapped() - before
}

func (t *traffic) overlapped() uint64 { return t.overlapHalves / 2 }

// A Ticket is a request in flight, from [Gate.Enter] to Exit.
type Ticket struct{ n *atomic.Uint64 }

// Exit ends the request. Call it exactly once, from any goroutine. More calls than of [Gate.Enter]
// panic. The zero Ticket does nothing.
func (t Ticket) Exit() {
	if t.n == nil {
		return
	}
	if uint32(t.n.Add(^uint64(0))) == math.MaxUint32 {
		t.n.Add(1) // the panic may be recovered
		panic("gcgate: more calls of Ticket.Exit than of Enter: one of them ends its request twice")
	}
}

// shard counts the requests of about one P. Enter and Exit are one atomic operation each, on a
// cache line that other cores seldom use:
//
//	63        32 31         0
//	+-----------+-----------+
//	| entered   | in flight |   entered wraps around; in flight never stays below zero
//	+-----------+-----------+
type shard struct {
	n atomic.Uint64
	_ [120]byte // two cache lines, because the prefetcher takes pairs
}

const oneEntered = 1<<32 + 1

// counter may be used by any goroutine. A sync.Pool hands out shards, one for each P.
type counter struct {
	shards []shard
	next   atomic.Uint32
	pool   sync.Pool

	watched atomic.Bool // the next request wakes the gate
	wake    chan struct{}
}

func newCounter() *counter {
	n := runtime.GOMAXPROCS(0)
	c := &counter{shards: make([]shard, n), wake: make(chan struct{}, 1)}
	c.pool.New = func() any { return &c.shards[c.next.Add(1)%uint32(len(c.shards))] }
	return c
}

func (c *counter) enter() Ticket {
	s := c.pool.Get().(*shard)
	s.n.Add(oneEntered)
	c.pool.Put(s)
	if c.watched.Load() {
		c.wakeGate()
	}
	return Ticket{&s.n}
}

func (c *counter) wakeGate() {
	if c.watched.Swap(false) {
		signal(c.wake)
	}
}

// watch returns false if a request has entered since. Otherwise the next one wakes the gate.
func (c *counter) watch(entered uint32) bool {
	c.watched.Store(true)
	_, now := c.read()
	return now == entered
}

func (c *counter) unwatch() {
	if c.watched.Load() {
		c.watched.Store(false)
	}
}

// read is not a snapshot. entered is modulo 2^32.
func (c *counter) read() (inFlight int, entered uint32) {
	for i := range c.shards {
		n := c.shards[i].n.Load()
		inFlight += int(uint32(n))
		entered += uint32(n >> 32)
	}
	return inFlight, entered
}
