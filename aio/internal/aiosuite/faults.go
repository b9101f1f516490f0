package aiosuite

import (
	"math/rand/v2"
	"time"
)

// Faults says how often what goes wrong, each from 0 (never) to 1 (always). A 1 of Again, Delay or
// Reorder is as good as less; a 1 of another has operations never end.
type Faults struct {
	ShortRead     float64 // a receive takes less than is there
	ShortWrite    float64 // a send takes less than there is room for
	Again         float64 // a transfer finds that it cannot, though it could
	Spurious      float64 // a read is said to be possible, and is not
	Delay         float64 // a transfer, or its completion, takes up to 2 ms
	Reorder       float64 // completions of one Poll come in any order, or only some of them
	NoBuffers     float64 // a send fails with ENOBUFS
	NoDescriptors float64 // an accept finds no descriptor free
	Cancelled     float64 // an operation comes back with ECANCELED that nobody has cancelled
	LateCancel    float64 // a cancellation comes too late when the transfer was possible
}

// AllFaults has all of them, often.
var AllFaults = Faults{
	ShortRead: .3, ShortWrite: .3, Again: .2, Spurious: .2, Delay: .2, Reorder: .5,
	NoBuffers: .1, NoDescriptors: .2, Cancelled: .1, LateCancel: .5,
}

// dice draws faults. It is owned by a Backend, under its mu.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0))} }

// hit draws once. A chance of 0 draws nothing.
func (d dice) hit(chance float64) bool { return chance > 0 && d.Float64() < chance }

// some returns 1 to n, and n most of the time.
func (d dice) some(n int, chance float64) int {
	if n > 1 && d.hit(chance) {
		return 1 + d.IntN(n-1)
	}
	return n
}

// delay returns 0 to 2 ms, and 0 most of the time.
func (d dice) delay(chance float64) time.Duration {
	if d.hit(chance) {
		return time.Duration(d.Int64N(int64(2 * time.Millisecond)))
	}
	return 0
}
