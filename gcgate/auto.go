package gcgate

import (
	"fmt"
	"math"
	"time"
)

const (
	adviceFirst   = 500 * time.Millisecond
	adviceEvery   = time.Minute
	adviceCycles  = 3
	adviceEntered = 100
)

// adviser says what a second replica would improve.
type adviser struct {
	heap *heapWatch

	begin    time.Time
	unspent  string
	cycles   uint64
	marked   time.Duration
	entered  uint64
	overlaps float64

	logged bool
}

func (a *adviser) look() {
	h, t := a.heap, a.heap.requests
	if a.begin.IsZero() || a.unspent != h.unspent {
		a.restart()
		return
	}
	seen := h.sampled.Sub(a.begin)
	cycles, entered := h.last.cycles-a.cycles, t.total-a.entered
	if seen < adviceFirst || a.logged && seen < adviceEvery || cycles < adviceCycles || entered < adviceEntered {
		return
	}
	share := min((a.overlapsNow()-a.overlaps)/float64(entered), 1)
	advice := a.advise(seen, (t.marked-a.marked)/time.Duration(cycles), cycles, share)
	h.status.update(func(s *Stats) { s.Advice = advice })
	if !a.logged {
		a.logged = true
		h.log.Info("gcgate: advice: " + advice)
	}
	a.restart()
}

func (a *adviser) restart() {
	h, t := a.heap, a.heap.requests
	a.begin, a.unspent, a.cycles, a.marked = h.sampled, h.unspent, h.last.cycles, t.marked
	a.entered, a.overlaps = t.total, a.overlapsNow()
}

func (a *adviser) overlapsNow() float64 {
	t := a.heap.requests
	return float64(t.overlapped()) + t.overlappedOther
}

func (a *adviser) advise(seen, marked time.Duration, cycles uint64, share float64) string {
	h := a.heap
	s := fmt.Sprintf("%.2g%% of the requests overlapped a collection, each of which marked for %v, one in %v",
		100*share, marked.Round(100*time.Microsecond), (seen / time.Duration(cycles)).Round(time.Millisecond))
	s += ": with a second replica behind a balancer, and Options.Signals and Turns set, almost none would"
	if h.policy == PolicyMemory && h.unspent != littleMemory || h.options.MaxTriggerBytes != 0 {
		return s
	}
	enough := uint64(spendRatio*float64(h.thresholds.live)/spendShare) + h.collector.Overhead()
	switch limit := h.allowed.limit; {
	case limit == math.MaxInt64:
		s += fmt.Sprintf("; with a memory limit set (GOMEMLIMIT, or the container's), such as %d MiB, "+
			"PolicyMemory would spend it on fewer collections", enough>>20+1)
	case uint64(limit) < enough:
		s += fmt.Sprintf("; with a memory limit of %d MiB, and not %d, PolicyMemory would spend it "+
			"on fewer collections",
			enough>>20+1, limit>>20)
	case h.policy != PolicyMemory:
		s += "; PolicyMemory would spend the memory that the limit leaves on fewer collections"
	}
	return s
}
