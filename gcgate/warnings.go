package gcgate

import (
	"log/slog"
	"sync"
	"time"
)

const (
	warnEvery  = time.Minute      // between two lines of one kind
	lastsEvery = 10 * time.Minute // while it lasts
)

// warnings log each kind of event once in its period, with how often it happened. Any goroutine may
// call the methods.
type warnings struct {
	log *slog.Logger

	mu    sync.Mutex // guards what follows
	kinds map[string]*Outage
}

func newWarnings(log *slog.Logger) *warnings {
	return &warnings{log: log, kinds: make(map[string]*Outage)}
}

// warn logs an event that just happens. A line counts those of the period before, which it did not
// log.
func (w *warnings) warn(kind, message string, args ...any) {
	w.of(kind).warn(w.log, warnEvery, warnEvery, message, args)
}

// lasting logs an event that repeats until over is called: once in lastsEvery, or after again if it
// was over in between.
func (w *warnings) lasting(kind string, again time.Duration, message string, args ...any) {
	w.of(kind).warn(w.log, again, lastsEvery, message, args)
}

// ongoing is lasting for what happened once and goes on.
func (w *warnings) ongoing(kind, message string, args ...any) {
	o := w.of(kind)
	o.isSame()
	o.warn(w.log, warnEvery, lastsEvery, message, args)
}

func (w *warnings) over(message string, kinds ...string) {
	times := 0
	for _, kind := range kinds {
		times += w.of(kind).close()
	}
	if times > 0 {
		w.log.Warn(message, withTimes(nil, times)...)
	}
}

func (w *warnings) of(kind string) *Outage {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.kinds[kind]
	if o == nil {
		o = &Outage{}
		w.kinds[kind] = o
	}
	return o
}

// An Outage logs a failure that comes and goes, at most once per minute. The attribute "times" says
// how often it began. The zero value is ready. Any goroutine may call its methods.
type Outage struct {
	mu     sync.Mutex // guards what follows
	logged time.Time  // zero: never
	times  int        // since it began
	since  int        // since the last line
	open   bool       // its end is not logged yet
}

// Began warns that the failure began, at most once per minute.
func (o *Outage) Began(log *slog.Logger, message string, args ...any) {
	o.warn(log, warnEvery, lastsEvery, message, args)
}

// Over warns that the failure is over, if the log has its begin.
func (o *Outage) Over(log *slog.Logger, message string, args ...any) {
	if times := o.close(); times > 0 {
		log.Warn(message, withTimes(args, times)...)
	}
}

func (o *Outage) warn(log *slog.Logger, every, whileOpen time.Duration, message string, args []any) {
	if times := o.count(every, whileOpen); times > 0 { // not under mu, because a Logger may hang
		log.Warn(message, withTimes(args, times)...)
	}
}

// count returns how many events a line is for, 0 if none is due.
func (o *Outage) count(every, whileOpen time.Duration) (times int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.times++
	o.since++
	if o.open {
		every = whileOpen
	}
	now := time.Now()
	if !o.logged.IsZero() && now.Sub(o.logged) < every {
		return 0
	}
	times = o.since
	o.logged, o.since, o.open = now, 0, true
	return times
}

// isSame says that the next event is the one that was counted before.
func (o *Outage) isSame() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.times, o.since = 0, 0
}

func (o *Outage) close() (times int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open {
		times = o.times
		o.times, o.since, o.open = 0, 0, false
	}
	return times
}

func withTimes(args []any, times int) []any {
	if times < 2 {
		return args
	}
	return append(args[:len(args):len(args)], "times", times)
}
