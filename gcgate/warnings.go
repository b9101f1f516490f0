package gcgate

import (
	"log/slog"
	"sync"
	"time"
)

// warnings log each kind of warning at most once in a time. Methods may be called from any
// goroutine.
type warnings struct {
	log *slog.Logger

	mu   sync.Mutex
	told map[string]time.Time // by kind; guarded by mu
}

func newWarnings(log *slog.Logger) *warnings {
	return &warnings{log: log, told: make(map[string]time.Time)}
}

// warn logs a warning unless one of its kind was logged within the time given.
func (w *warnings) warn(kind string, every time.Duration, message string, args ...any) {
	w.mu.Lock()
	now := time.Now()
	last, told := w.told[kind]
	due := !told || now.Sub(last) >= every
	if due {
		w.told[kind] = now
	}
	w.mu.Unlock() // a Logger may hang
	if due {
		w.log.Warn(message, args...)
	}
}

// has reports whether a warning of the kind was logged.
func (w *warnings) has(kind string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, told := w.told[kind]
	return told
}
