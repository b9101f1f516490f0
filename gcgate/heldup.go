package gcgate

import (
	"errors"
	"sync"
	"time"
)

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
