package gcgate

import (
	"errors"
	"sync"
	"time"
)

const holderLook = time.Second // between two looks at who holds the turn

// heldUp says who holds the turn up. The zero value is ready: nobody does. Methods may be called
// from any goroutine.
type heldUp struct {
	mu    sync.Mutex
	by    string    // "": nobody; guarded by mu
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

// turnWait is one wait for the turn. It is owned by the control goroutine.
type turnWait struct {
	taker  *turnTaker
	looked time.Time
	holder string    // at the last look
	since  time.Time // the turn has had this holder since, as far as this replica has seen
	said   bool      // the statistics name it
}

// look notes who holds the turn, and says so when one replica has held it for long. err is what the
// last try returned, nil while one runs.
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
	w.said = true
	if err == nil || errors.Is(err, ErrHeld) { // else take says it
		h := t.heap
		h.warnings.ongoing("waits",
			"gcgate: this replica cannot collect because another one has held the turn for long; look at its log",
			"holder", by, "held", waited.Round(time.Second),
			"heap", h.used, "trigger", h.thresholds.trigger, "hard", h.thresholds.hard)
	}
}

// end ends the wait.
func (w *turnWait) end() {
	if w.said {
		w.taker.heldUp.clear()
	}
}

// got ends the wait, because this replica has the turn.
func (w *turnWait) got() {
	w.taker.heap.warnings.over("gcgate: this replica has the turn again", "waits")
}

// holderName names who holds the turn, "" where that is not known.
func (t *turnTaker) holderName(err error) string {
	if err != nil && !errors.Is(err, ErrHeld) {
		return err.Error()
	}
	if n, ok := t.turns.(HolderNamer); ok {
		defer t.calls.begin("Holders of Turns")()
		return n.Holders()
	}
	if err == nil || err == ErrHeld { // not wrapped: it names nobody
		return ""
	}
	return err.Error()
}
