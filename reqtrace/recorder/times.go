package recorder

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// times counts requests by how long they took, eight steps an octave, for a quantile of the last
// minutes. Any goroutine may add. The rest belongs to the recorder's goroutine.
type times struct {
	now    [buckets]atomic.Uint32
	before [quantileMinutes][buckets]uint32 // of whole minutes, in a ring
	minute int
}

const (
	steps           = 8
	buckets         = 64 * steps
	quantileMinutes = 4 // and the one under way
	leastRequests   = 1000
	leastQuantile   = time.Millisecond
)

func (t *times) add(d time.Duration) { t.now[bucket(d)].Add(1) }

// bucket returns the step of d: the octave, then the three bits after the first.
func bucket(d time.Duration) int {
	n := uint64(max(d, steps))
	octave := bits.Len64(n) - 1
	return octave*steps + int(n>>(octave-3))&(steps-1)
}

func ceiling(i int) time.Duration {
	octave := i / steps
	return time.Duration(uint64(steps+i%steps+1)<<(octave-3)) - 1
}

func (t *times) turn() {
	m := &t.before[t.minute]
	for i := range t.now {
		m[i] = t.now[i].Swap(0)
	}
	t.minute = (t.minute + 1) % quantileMinutes
}

// quantile returns how long the requests below a quantile took at most. It is the largest
// duration if too few are known.
func (t *times) quantile(q float64) time.Duration {
	var counts [buckets]uint64
	var all uint64
	for i := range counts {
		counts[i] = uint64(t.now[i].Load())
		for m := range t.before {
			counts[i] += uint64(t.before[m][i])
		}
		all += counts[i]
	}
	if all < leastRequests {
		return math.MaxInt64
	}
	left := uint64(q * float64(all))
	for i, n := range counts {
		if n > left {
			return max(ceiling(i), leastQuantile)
		}
		left -= n
	}
	return math.MaxInt64
}
