package gcgate

import (
	"math"
	"strings"
	"sync"
	"time"

	"evenkeel.dev/gcgate/capacity"
)

// TurnStats tell how the turns suffice. evenkeel.dev/gcgate/capacity has the formulas.
type TurnStats struct {
	Held Duration // from taking a turn to its release

	Holding int

	// HeldUpBy names who has held the turn up for five seconds or more, "" otherwise. The holder
	// names its peer, a waiting replica names the holder.
	HeldUpBy  string
	HeldUpFor time.Duration

	Replicas int // of the options; 0: not known
	Turns    int // at once; 0: there are none

	// Load is the share of the time for which turns would be held if all replicas allocated like
	// this one. Above 1 the turns do not suffice. 0 is not known.
	Load float64

	// LongestWait is how long this replica would wait if all wanted the turn at once. Spare is how
	// long its heap takes from the trigger to the hard threshold. 0 is not known.
	LongestWait, Spare time.Duration
}

type turnLoad struct {
	replicas int // constant; 0: not known
	turns    int // constant; 0: none

	// The control goroutine owns these.
	trigger      uint64 // before leaveTime
	longestDrain time.Duration
	failedDrain  time.Duration // 0: this process was quiet after it
	assumed      time.Duration // each way, while few announcements have shown it

	mu      sync.Mutex    // guards what follows
	mean    time.Duration // moving; 0: none yet
	longest time.Duration // recently, at most twice the mean each
	total   Duration
}

func newTurnLoad(o *Options) *turnLoad {
	if o.Turns == nil {
		return &turnLoad{}
	}
	return &turnLoad{replicas: o.Replicas, turns: turnCount(o.Turns)}
}

// learn ignores a lost turn. Any goroutine may call it.
func (l *turnLoad) learn(held time.Duration, returned bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total.add(held)
	if !returned {
		return
	}
	if l.mean == 0 {
		l.mean = held
	}
	held = min(held, 4*l.mean+time.Second)
	l.longest = max(min(held, 2*l.mean), l.longest-l.longest/8)
	l.mean += (held - l.mean) / 4
}

func (l *turnLoad) held(expected time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mean > 0 {
		return l.mean
	}
	return expected
}

func (l *turnLoad) drainedWithoutTurns(expected time.Duration) time.Duration {
	if l.turns > 0 || l.failedDrain == 0 {
		return 0
	}
	return l.failedDrain + expected
}

func (l *turnLoad) longestWait(held time.Duration) time.Duration {
	return capacity.LongestWait(l.replicas, l.turns, held)
}

// learnDrain keeps the longest, because a balancer that batches takes a second for one and nothing
// for the next.
func (l *turnLoad) learnDrain(took, more time.Duration, isQuiet bool) {
	l.longestDrain = max(took+more, l.longestDrain-l.longestDrain/8)
	if l.failedDrain = took; isQuiet {
		l.failedDrain = 0
	}
}

// Envoy batches changes for a second by default.
const lateAtMost = 1200 * time.Millisecond

func (l *turnLoad) untilCollection(held time.Duration) time.Duration {
	wait := l.longestWait(held)
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait > 0 && l.longest > held {
		wait += l.longest - held
	}
	return wait + max(l.longestDrain, l.assumed)
}

// leaveTime lowers the trigger so that the heap takes at least wait from there to the hard
// threshold.
func (t *thresholds) leaveTime(rate float64, drained, wait time.Duration) {
	if early := float64(t.hard) - rate*wait.Seconds(); wait > 0 && early < float64(t.trigger) {
		t.trigger = min(t.trigger, uint64(max(early, t.earliest(rate, drained))))
		t.idle = min(t.highestIdle, t.trigger)
	}
}

func (t *thresholds) earliest(rate float64, drained time.Duration) float64 {
	return float64(t.live) + max((minTriggerRatio-1)*float64(t.live), rate*drained.Seconds()/4)
}

// meanRate is pace, corrected for its start at 0.
func (h *heapWatch) meanRate() float64 {
	if age := h.sampled.Sub(h.began).Seconds(); age > 0 {
		return h.pace / -math.Expm1(-age)
	}
	return 0
}

// carriedRate is what this process allocates while others are drained.
func (h *heapWatch) carriedRate() float64 {
	rate := capacity.CarriedRate(h.meanRate(), h.turns.replicas, h.turns.turns)
	if dt := h.sampled.Sub(h.collected); dt >= sampleMax/2 {
		rate = max(rate, float64(h.used-min(h.used, h.thresholds.live))/dt.Seconds())
	}
	return rate
}

func (h *heapWatch) turnStats() TurnStats {
	l := h.turns
	l.mu.Lock()
	s := TurnStats{Held: l.total, Replicas: l.replicas, Turns: l.turns}
	l.mu.Unlock()
	if l.turns == 0 || !h.inCharge {
		return s
	}
	if rate := h.carriedRate(); rate > 0 {
		left := max(float64(h.thresholds.hard)-float64(h.thresholds.trigger), 0)
		s.Spare = time.Duration(min(left/rate, farFor.Seconds()*60) * float64(time.Second))
	}
	if l.replicas > 0 {
		held := l.held(h.expected())
		s.LongestWait = l.longestWait(held)
		s.Load = capacity.TurnLoad(float64(l.replicas)*h.meanRate(), h.room(), held, l.turns)
	}
	return s
}

func (h *heapWatch) room() float64 {
	return capacity.Room(float64(h.thresholds.live), float64(h.turns.trigger), 0)
}

func (h *heapWatch) turnFigures() []any {
	s := h.turnStats()
	held := h.turns.held(h.expected())
	figures := []any{
		"held", held.Round(time.Millisecond), "turns", s.Turns, "bytes_per_second", uint64(h.meanRate()),
		"from_trigger_to_hard", s.Spare.Round(time.Millisecond),
	}
	if s.Replicas > 0 {
		figures = append(figures, "replicas", s.Replicas, "load_of_turns", s.Load,
			"longest_wait", s.LongestWait.Round(time.Millisecond))
	}
	return figures
}

// turnsEnough would suffice. ok is false if no replica would serve then.
func (h *heapWatch) turnsEnough(held time.Duration) (k int, ok bool) {
	n, t := h.turns.replicas, &h.thresholds
	k = capacity.TurnsFor(float64(n)*h.meanRate(), h.room(), held, capacity.EasyLoad)
	rate := h.carriedRate()
	left := float64(t.hard) - t.earliest(rate, held)
	for k < n && capacity.LongestWait(n, k, held).Seconds()*rate > left {
		k++
	}
	return k, k < n
}

func (h *heapWatch) hardEnough(held time.Duration) float64 {
	rate := h.carriedRate()
	return h.thresholds.earliest(rate, held) + rate*h.turns.longestWait(held).Seconds()
}

func (h *heapWatch) warnTurns() {
	s := h.turnStats()
	if s.Replicas == 0 || s.Held.Count < turnsKnown {
		return
	}
	held := h.turns.held(h.expected())
	hard := uint64(h.hardEnough(held))
	short := hard > h.thresholds.hard
	var what string
	switch {
	case s.Load > 1:
		what = "the turns do not suffice: collections come faster than turns are released"
	case short && s.Spare < s.LongestWait:
		what = "if all replicas want the turn at once, the last one collects without it"
	default:
		h.warnings.over("gcgate: the turns suffice again", "load of turns")
		return
	}
	figures := h.turnFigures()
	var ways []string
	if short {
		ways = append(ways, "raise the memory limit, or HardRatio and MaxTriggerBytes, until hard is hard_enough")
		figures = append(figures, "hard", h.thresholds.hard, "hard_enough", hard)
	} else {
		ways = append(ways, "raise the memory limit or MaxTriggerBytes, so that collections are further apart")
	}
	if k, ok := h.turnsEnough(held); ok && k > s.Turns {
		ways = append(ways, "let turns_enough replicas collect at once")
		figures = append(figures, "turns_enough", k)
	}
	fix := strings.Join(ways, "; or ")
	h.warnings.lasting("load of turns", lastsEvery, "gcgate: "+what, append(figures, "fix", fix)...)
}

const turnsKnown = 3
