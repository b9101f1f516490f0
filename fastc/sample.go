package fastc

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

const (
	sampleOneIn = 128 // calls of a trusted function to a timed one, on average and at most
	timingShare = 100 // one part in so many of the time goes into timing, beyond one call in sampleOneIn

	costOfTiming = 64 * time.Nanosecond  // two looks at the clock
	costOfDoubt  = 500 * time.Nanosecond // and two at the thread

	paceWindow   = 100 * time.Millisecond // what a pace remembers
	maxCuriosity = 1 << 14                // timed calls beyond one in sampleOneIn that may find nothing: a millisecond
)

// countdowns say when to time a call again. Each cell has a cache line, and a goroutine uses the
// cell that the address of its stack chooses (siteCall): so that calls on several cores do not
// contend for one, as they would for a counter of the Site, and counting costs a nanosecond.
//
// siteCall counts without atomics. Two goroutines in one cell may lose a count, or one a new start;
// either moves a sample by some calls, and nothing else depends on the cell.
type countdowns [32]struct {
	left  atomic.Int32 // first: siteCall's
	start atomic.Int32
	_     [56]byte
}

// restart begins every countdown that is over, and returns how many calls those were. The new ones
// differ at random about mean, so that samples do not fall into step with a program's own period.
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

// pace is how quickly the calls of a function follow one another. It is not exact when several
// goroutines take note at once, and need not be.
type pace struct {
	last, elapsed, calls atomic.Int64 // ns, ns, and calls in elapsed
}

// oneIn returns how many calls to let pass for a timed one, on average, at now. Where calls come
// slowly each is timed, for nobody notices; and so it is where most come quickly but a few take
// long, which is how those are seen.
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

// add takes note of calls.
func (p *pace) add(calls int32) { p.calls.Add(int64(calls)) }
