package gcgate

import (
	"log/slog"
	"sync"
	"time"
)

// Periods of warnings.
const (
	warnEvery  = time.Minute      // between two lines about events of one kind
	lastsEvery = 10 * time.Minute // likewise, about what lasts until the log says that it is over
)

// warnings log each kind of event at most once in its period, and say how often it happened.
// Methods may be called from any goroutine.
type warnings struct {
	log *slog.Logger

	mu    sync.Mutex
	kinds map[string]*warning // guarded by mu
}

// warning is one kind of event. The mutex of its warnings guards it.
type warning struct {
	told   time.Time // when the log was told last; zero: never
	times  int       // since it began
	unsaid int       // of them, those after the last line
	open   bool      // the log knows of it, and not yet that it is over
	later  *record   // the newest event, which settle logs; nil: none
}

// record is what a warning says.
type record struct {
	message string
	args    []any
}

func newWarnings(log *slog.Logger) *warnings {
	return &warnings{log: log, kinds: make(map[string]*warning)}
}

// warn logs an event. Where one of its kind was logged within warnEvery it waits for settle, which
// logs the newest of those that wait.
func (w *warnings) warn(kind, message string, args ...any) {
	w.say(kind, warnEvery, true, record{message, args})
}

// lasting logs an event that lasts until over is called, unless one of its kind was logged within
// the time given.
func (w *warnings) lasting(kind string, every time.Duration, message string, args ...any) {
	w.say(kind, every, false, record{message, args})
}

// say counts an event, and logs it where its kind is due. Else it may wait for settle.
func (w *warnings) say(kind string, every time.Duration, waits bool, r record) {
	w.mu.Lock()
	k := w.kinds[kind]
	if k == nil {
		k = &warning{}
		w.kinds[kind] = k
	}
	k.times++
	k.unsaid++
	times, due := k.tell(time.Now(), every)
	if !due && waits {
		k.later = &r
	}
	w.mu.Unlock() // a Logger may hang
	if due {
		w.log.Warn(r.message, withTimes(r.args, times)...)
	}
}

// tell notes that the log is told now, where it is due, and returns how many events that line
// stands for.
func (k *warning) tell(now time.Time, every time.Duration) (times int, due bool) {
	if !k.told.IsZero() && now.Sub(k.told) < every {
		return 0, false
	}
	times = k.unsaid
	k.told, k.unsaid, k.open, k.later = now, 0, true, nil
	return times, true
}

// over logs that what lasted has ended, and how often it happened, where the log knows of one of
// the kinds.
func (w *warnings) over(message string, kinds ...string) {
	if times := w.close(kinds); times > 0 {
		w.log.Warn(message, withTimes(nil, times)...)
	}
}

// close notes that kinds of events are over, and returns how often those happened that the log
// knows of.
func (w *warnings) close(kinds []string) (times int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, kind := range kinds {
		if k := w.kinds[kind]; k != nil && k.open {
			times += k.times
			k.times, k.unsaid, k.open = 0, 0, false
		}
	}
	return times
}

// settle logs the events that have waited for their period to end.
func (w *warnings) settle(now time.Time) {
	for {
		r, times := w.nextLater(now)
		if r == nil {
			return
		}
		w.log.Warn(r.message, withTimes(r.args, times)...)
	}
}

// nextLater returns one of the events that are due, nil where none is.
func (w *warnings) nextLater(now time.Time) (r *record, times int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.kinds {
		if r = k.later; r == nil {
			continue
		}
		if times, due := k.tell(now, warnEvery); due {
			return r, times
		}
	}
	return nil, 0
}

// withTimes adds to a line's attributes how many events it stands for.
func withTimes(args []any, times int) []any {
	if times < 2 {
		return args
	}
	return append(args[:len(args):len(args)], "times", times)
}

// has reports whether a warning of the kind was logged.
func (w *warnings) has(kind string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kinds[kind] != nil
}
