package fastc

import (
	"math/rand/v2"
	"sync/atomic"
)

// sampleOneIn is how many calls of a trusted function there are to a timed one, on average.
const sampleOneIn = 128

// countdowns say when to time a call again. Each cell has a cache line, and a goroutine uses the
// cell that the address of its stack chooses (siteCall): so that calls on several cores do not
// contend for one, as they would for a counter of the Site, and counting costs a nanosecond.
//
// siteCall counts without atomics. Two goroutines in one cell may lose a count, or one a new start;
// either moves a sample by some calls, and nothing else depends on the cell.
type countdowns [32]struct {
	left atomic.Int32
	_    [60]byte
}

// restart begins every countdown that is over. The new ones differ at random, so that samples
// do not fall into step with a program's own period.
func (c *countdowns) restart() {
	for i := range c {
		if c[i].left.Load() <= 0 {
			c[i].left.Store(1 + rand.Int32N(2*sampleOneIn-1))
		}
	}
}
