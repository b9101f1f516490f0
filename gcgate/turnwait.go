package gcgate

import (
	"cmp"
	"errors"
	"sync"
	"time"
)

const holderLook = time.Second

type turnWait struct {
	taker  *turnTaker
	reason Reason
	cycles uint64 // when the wait began
	pause  time.Duration
	err    error

	looked time.Time
	holder string    // "": not known
	since  time.Time // it has held the turn since
}

func (w *turnWait) ask() Lease {
	t := w.taker
	if t.holding.Load() > 0 {
		w.err = ErrHeld // some Turns would give this process two
		return nil
	}
	acquire := t.tryAcquire
	queue, queued := t.turns.(Queue)
	if queued = queued && w.reason != ReasonIdleGap; queued {
		acquire = queue.Acquire
	}
	a, answered := t.try(acquire, func() {
		if queued {
			w.look(nil)
		}
	})
	switch held := errors.Is(a.err, ErrHeld); {
	case !answered && queued:
		w.err = ErrHeld
	case !answered:
		w.err = cmp.Or(w.err, errNoAnswer)
	case a.err == nil || held:
		w.err = a.err
		t.warnings.over("gcgate: turns can be taken again", "turns")
	default:
		w.err = a.err
		t.warnings.lasting("turns", warnEvery,
			"gcgate: cannot take the turn; waiting for it up to the hard threshold", "error", a.err)
	}
	return a.lease
}

func (w *turnWait) rest() {
	t := w.taker
	for begin := time.Now(); !isClosed(t.stop) && !t.goesWithoutTurn() && !w.isObsolete(); w.look(w.err) {
		if errors.Is(w.err, ErrHeld) && !t.heap.farFromHard() {
			w.pause = turnPause // it may be free at any time
		}
		left := w.pause - time.Since(begin)
		if left <= 0 {
			return
		}
		t.heap.sleep(min(left, t.heap.wantingInterval()), nil)
	}
}

func (w *turnWait) isObsolete() bool {
	h := w.taker.heap
	byHeap := w.reason == ReasonTrigger || w.reason == ReasonPeriodic
	return byHeap && h.last.cycles != w.cycles && h.used < h.thresholds.trigger
}

func (w *turnWait) look(err error) {
	now, t := time.Now(), w.taker
	if now.Sub(w.looked) < holderLook || t.holding.Load() > 0 {
		return
	}
	w.looked = now
	if holder := t.holderName(err); holder != w.holder || w.since.IsZero() {
		w.holder, w.since = holder, now
	}
	patience := heldUpAfter
	if w.holder == "" {
		patience = max(patience, t.heap.turnStats().LongestWait)
	}
	waited := now.Sub(w.since)
	if waited < patience {
		return
	}
	by := cmp.Or(w.holder, "another replica")
	t.heldUp.set(by, w.since)
	if err == nil || errors.Is(err, ErrHeld) {
		h := t.heap
		t.warnings.ongoing("waits",
			"gcgate: this replica cannot collect because another one has held the turn for long; look at its log",
			"holder", by, "held", waited.Round(time.Second),
			"heap", h.used, "trigger", h.thresholds.trigger, "hard", h.thresholds.hard)
	}
}

// heldUp says who holds the turn up. Any goroutine may use it.
type heldUp struct {
	mu    sync.Mutex // guards what follows
	by    string     // "": not held up
	since time.Time
}

func (h *heldUp) set(by string, since time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.by, h.since = by, since
}

func (h *heldUp) clear() { h.set("", time.Time{}) }

func (h *heldUp) get() (by string, held time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by == "" {
		return "", 0
	}
	return h.by, time.Since(h.since)
}

func (t *turnTaker) holderName(err error) string {
	if err != nil && !errors.Is(err, ErrHeld) {
		return err.Error()
	}
	if n, ok := t.turns.(HolderNamer); ok {
		return n.Holders()
	}
	if err == nil || err == ErrHeld { // unwrapped: names no holder
		return ""
	}
	return err.Error()
}
