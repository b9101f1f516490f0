package gcgate

import (
	"fmt"
	"log/slog"
	"math"
	"time"
)

// What an adviser looks at.
const (
	adviceFirst   = 500 * time.Millisecond // of requests and collections, at least, before the first advice
	adviceEvery   = time.Minute            // between two
	adviceCycles  = 3                      // in each, at least
	adviceEntered = 100                    // requests, likewise
)

// adviser says what another replica and a balancer would give a process that has nobody to tell.
// Owned by the control goroutine.
type adviser struct {
	heap *heapWatch
	log  *slog.Logger

	begin  time.Time // of the time that the next advice is about; zero: not begun
	policy Policy    // then, and so on
	cycles uint64
	marked time.Duration
	own    uint64
	other  float64
	total  uint64
	told   bool // the log knows
}

// look advises when enough has been seen. own is [Stats].Overlapped.
func (a *adviser) look(own uint64) {
	h := a.heap
	if a.begin.IsZero() || a.policy != h.policy {
		a.restart(own)
		return
	}
	seen := h.sampled.Sub(a.begin)
	cycles, entered := h.last.cycles-a.cycles, h.overlap.entered-a.total
	if seen < adviceFirst || a.told && seen < adviceEvery || cycles < adviceCycles || entered < adviceEntered {
		return
	}
	met := float64(own-a.own) + h.overlap.met - a.other
	advice := a.advise(seen, (h.overlap.marked-a.marked)/time.Duration(cycles), cycles, min(met/float64(entered), 1))
	h.status.update(func(s *Stats) { s.Advice = advice })
	if !a.told {
		a.told = true
		a.log.Info("gcgate: advice: " + advice)
	}
	a.restart(own)
}

func (a *adviser) restart(own uint64) {
	h := a.heap
	a.begin, a.policy, a.cycles, a.marked = h.sampled, h.policy, h.last.cycles, h.overlap.marked
	a.own, a.other, a.total = own, h.overlap.met, h.overlap.entered
}

// advise puts it in a sentence or two.
func (a *adviser) advise(seen, marked time.Duration, cycles uint64, share float64) string {
	h := a.heap
	s := fmt.Sprintf("%.2g%% of the requests met a collection, each of which marked for %v, one in %v",
		100*share, marked.Round(100*time.Microsecond), (seen / time.Duration(cycles)).Round(time.Millisecond))
	s += ": with a second replica, behind a balancer that the gate tells (Options.Signals, and Turns), next to none would"
	if h.policy == PolicyMemory && h.roomy || h.options.MaxTriggerBytes != 0 {
		return s
	}
	enough := uint64(spendRatio*float64(h.thresholds.live)/spendShare) + h.collector.Overhead()
	switch limit := h.allowed.limit; {
	case limit == math.MaxInt64:
		s += fmt.Sprintf("; with a memory limit set (GOMEMLIMIT, or the container's), such as %d MiB, PolicyMemory would spend it on fewer collections", enough>>20+1)
	case uint64(limit) < enough:
		s += fmt.Sprintf("; with a memory limit of %d MiB, and not %d, PolicyMemory would spend it on fewer collections", enough>>20+1, limit>>20)
	default:
		s += "; PolicyMemory would spend the memory that the limit leaves on fewer collections"
	}
	return s
}
