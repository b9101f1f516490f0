package aiosuite

import (
	"math/rand/v2"
	"time"
)

// Faults are the chances of faults, as package aiotest has them.
type Faults struct {
	ShortRead, ShortWrite, Again, Spurious, Delay, Reorder, NoBuffers, NoDescriptors, Cancelled, LateCancel float64
}

// AllFaults has all faults, often.
var AllFaults = Faults{
	ShortRead: .3, ShortWrite: .3, Again: .2, Spurious: .2, Delay: .2, Reorder: .5,
	NoBuffers: .1, NoDescriptors: .2, Cancelled: .1, LateCancel: .5,
}

// dice draws faults. Backend.mu guards it.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0))} }

// hit draws once. A chance of 0 draws nothing.
func (d dice) hit(chance float64) bool { return chance > 0 && d.Float64() < chance }

// some returns n, or with that chance 1 to n.
func (d dice) some(n int, chance float64) int {
	if n > 1 && d.hit(chance) {
		return 1 + d.IntN(n-1)
	}
	return n
}

// delay returns 0, or with that chance up to 2 ms.
func (d dice) delay(chance float64) time.Duration {
	if d.hit(chance) {
		return time.Duration(d.Int64N(int64(2 * time.Millisecond)))
	}
	return 0
}
