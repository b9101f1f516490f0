package gcgate

import (
	"cmp"
	"errors"
	"sync"
	"time"
)

const holderLook = time.Second // between two looks at who holds the turn

// turnWait is one wait for the turn. The control goroutine owns it.
type turnWait struct {
	taker  *turnTaker
	reason Reason        // to collect
	cycles uint64        // that had ended when the wait began
	pause  time.Duration // between two tries
	err    error         // of the last try

	// The holder of the turn, as far as this replica has seen.
	looked time.Time
	holder string    // "": not known
	since  time.Time // it has held the turn since
	named  bool      // the statistics name it
}

// ask tries to take the turn once. It returns nil if it does not get it, and sets err.
func (w *turnWait) ask() Lease {
	t := w.taker
	if t.holding.Load() > 0 {
		w.err = ErrHeld // by this process: some Turns would give it two
		return nil
	}
	name, acquire := "TryAcquire", t.tryAcquire
	queue, queued := t.turns.(Queue)
	if queued = queued && w.reason != ReasonIdleGap; queued {
		name, acquire = "Acquire", queue.Acquire
	}
	a, answered := t.try(name, acquire, func() {
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

// rest waits for the pause, or until the collection goes without the turn, has no reason any more,
// or the gate stops.
func (w *turnWait) rest() {
	t := w.taker
	for begin := time.Now(); !isClosed(t.stop) && !t.goesWithoutTurn() && !w.isObsolete(); w.look(w.err) {
		if errors.Is(w.err, ErrHeld) && !t.heap.farFromHard() {
			w.pause = turnPause // it may be free at any time, and is needed
		}
		left := w.pause - time.Since(begin)
		if left <= 0 {
			return
		}
		t.heap.sleep(min(left, t.heap.wantingInterval()), nil)
	}
}

// isObsolete reports whether a cycle that was not the gate's has ended the reason to collect.
func (w *turnWait) isObsolete() bool {
	h := w.taker.heap
	byHeap := w.reason == ReasonTrigger || w.reason == ReasonPeriodic
	return byHeap && h.last.cycles != w.cycles && h.used < h.thresholds.trigger
}

// look notes who holds the turn, and warns if one replica has held it for long. err is from the
// last try, nil while one runs.
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
	if w.holder == "" { // it may be another one each time
		patience = max(patience, t.heap.turnStats().LongestWait)
	}
	waited := now.Sub(w.since)
	if waited < patience {
		return
	}
	by := w.holder
	if by == "" {
		by = "another replica"
	}
	t.heldUp.set(by, w.since)
	w.named = true
	if err == nil || errors.Is(err, ErrHeld) { // else take logs it
		h := t.heap
		t.warnings.ongoing("waits",
			"gcgate: this replica cannot collect because another one has held the turn for long; look at its log",
			"holder", by, "held", waited.Round(time.Second),
			"heap", h.used, "trigger", h.thresholds.trigger, "hard", h.thresholds.hard)
	}
}

func (w *turnWait) end() {
	if w.named {
		w.taker.heldUp.clear()
	}
}

// heldUp says who holds the turn up. The zero value says that nothing does. Any goroutine may use
// it.
type heldUp struct {
	mu    sync.Mutex
	by    string    // "": it is not held up; guarded by mu
	since time.Time // guarded by mu
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
		defer t.calls.begin("Holders of Turns")()
		return n.Holders()
	}
	if err == nil || err == ErrHeld { // not wrapped: it names no holder
		return ""
	}
	return err.Error()
}
