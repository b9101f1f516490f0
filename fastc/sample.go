package fastc

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

const (
	sampleOneIn = 128 // calls of a trusted function to a timed one, on average and at most
	timingShare = 100 // timing more than one call in sampleOneIn takes at most a hundredth of the time

	costOfTiming = 64 * time.Nanosecond  // reads the clock twice
	costOfDoubt  = 500 * time.Nanosecond // asks about the thread twice, too

	paceWindow   = 100 * time.Millisecond // what a pace remembers
	maxCuriosity = 1 << 14                // timed calls beyond one in sampleOneIn that find nothing
)

// countdowns say when to time a call again. Each cell has a cache line, and the address of a
// goroutine's stack chooses the cell (siteCall), so that cores do not contend.
//
// siteCall counts without atomics. Two goroutines in one cell may lose a count or a new start,
// which moves a sample by some calls.
type countdowns [32]struct {
	left  atomic.Int32 // first: siteCall's
	start atomic.Int32
	_     [56]byte
}

// restart begins the countdowns that are over, and returns how many calls those were. The new ones
// are random about mean, so that samples do not follow a program's own period.
func (c *countdowns) restart(mean int32) (calls int32) {
	for i := range c {
		if c[i].left.Load() <= 0 {
			start := 1 + rand.Int32N(2*mean-1)
			calls += c[i].start.Swap(start)
			c[i].left.Store(start)
		}
	}
	return calls
}

type pace struct {
	last, elapsed, calls atomic.Int64 // ns, ns, and calls in elapsed
}

// oneIn returns how many calls there are to one timed call, on average. It is 1 if calls come
// slowly or take long.
func (p *pace) oneIn(now, cost time.Duration) int32 {
	since := min(now-time.Duration(p.last.Swap(int64(now))), paceWindow)
	elapsed, calls := p.elapsed.Add(int64(max(since, 1))), p.calls.Load()
	if elapsed > int64(paceWindow) {
		elapsed, calls = elapsed/2, calls/2
		p.elapsed.Store(elapsed)
		p.calls.Store(calls)
	}
	return int32(min(max(float64(cost)*timingShare*float64(calls)/float64(elapsed), 1), sampleOneIn))
}

func (p *pace) add(calls int32) { p.calls.Add(int64(calls)) }
