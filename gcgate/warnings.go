package gcgate

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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
	kinds map[string]*warning
}

// warning is guarded by the mutex of its warnings.
type warning struct {
	logged time.Time // zero: never
	times  int       // since it began
	since  int       // since the last line
	open   bool      // its end is not logged yet
	later  *record   // for settle; nil: none
}

type record struct {
	message string
	args    []any
}

func newWarnings(log *slog.Logger) *warnings {
	return &warnings{log: log, kinds: make(map[string]*warning)}
}

// warn logs an event, or within warnEvery of the last one keeps it for settle.
func (w *warnings) warn(kind, message string, args ...any) {
	w.say(kind, func(k *warning, now time.Time) (times int, due bool) {
		k.happened()
		if times, due = k.line(now, warnEvery); !due {
			k.later = &record{message, args}
		}
		return times, due
	}, message, args)
}

// lasting logs an event that repeats until over is called: once in lastsEvery, or after again if it
// was over in between.
func (w *warnings) lasting(kind string, again time.Duration, message string, args ...any) {
	w.say(kind, func(k *warning, now time.Time) (times int, due bool) {
		k.happened()
		return k.line(now, k.period(again))
	}, message, args)
}

// ongoing is lasting for what happened once and goes on.
func (w *warnings) ongoing(kind, message string, args ...any) {
	w.say(kind, func(k *warning, now time.Time) (times int, due bool) {
		k.times, k.since = 1, 1
		return k.line(now, k.period(warnEvery))
	}, message, args)
}

// say calls count with mu held. count returns how many events the line is for, and whether to log.
func (w *warnings) say(kind string, count func(*warning, time.Time) (int, bool), message string, args []any) {
	w.mu.Lock()
	k := w.kinds[kind]
	if k == nil {
		k = &warning{}
		w.kinds[kind] = k
	}
	times, due := count(k, time.Now())
	w.mu.Unlock() // a Logger may hang
	if due {
		w.log.Warn(message, withTimes(args, times)...)
	}
}

func (k *warning) happened() {
	k.times++
	k.since++
}

func (k *warning) period(again time.Duration) time.Duration {
	if k.open {
		return lastsEvery
	}
	return again
}

func (k *warning) line(now time.Time, every time.Duration) (times int, due bool) {
	if !k.logged.IsZero() && now.Sub(k.logged) < every {
		return 0, false
	}
	times = k.since
	k.logged, k.since, k.open, k.later = now, 0, true, nil
	return times, true
}

func (k *warning) close() (times int) {
	if k.open {
		times = k.times
		k.times, k.since, k.open = 0, 0, false
	}
	return times
}

func (w *warnings) over(message string, kinds ...string) {
	if times := w.close(kinds); times > 0 {
		w.log.Warn(message, withTimes(nil, times)...)
	}
}

func (w *warnings) close(kinds []string) (times int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, kind := range kinds {
		if k := w.kinds[kind]; k != nil {
			times += k.close()
		}
	}
	return times
}

func (w *warnings) settle(now time.Time) {
	for {
		r, times := w.nextLater(now)
		if r == nil {
			return
		}
		w.log.Warn(r.message, withTimes(r.args, times)...)
	}
}

func (w *warnings) nextLater(now time.Time) (r *record, times int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.kinds {
		if r = k.later; r == nil {
			continue
		}
		if times, due := k.line(now, warnEvery); due {
			return r, times
		}
	}
	return nil, 0
}

func withTimes(args []any, times int) []any {
	if times < 2 {
		return args
	}
	return append(args[:len(args):len(args)], "times", times)
}

func (w *warnings) has(kind string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kinds[kind] != nil
}

// An Outage logs a failure that comes and goes, at most once per minute. The attribute "times" says
// how often it began. The zero value is ready. Any goroutine may call its methods.
type Outage struct {
	mu sync.Mutex // guards what follows
	of warning
}

// Began warns that the failure began, at most once per minute.
func (o *Outage) Began(log *slog.Logger, message string, args ...any) {
	o.mu.Lock()
	o.of.happened()
	times, due := o.of.line(time.Now(), o.of.period(warnEvery))
	o.mu.Unlock() // a Logger may hang
	if due {
		log.Warn(message, withTimes(args, times)...)
	}
}

// Over warns that the failure is over, if the log has its begin.
func (o *Outage) Over(log *slog.Logger, message string, args ...any) {
	o.mu.Lock()
	times := o.of.close()
	o.mu.Unlock()
	if times > 0 {
		log.Warn(message, withTimes(args, times)...)
	}
}

const (
	maxWarnings    = 5
	maxWarningText = 1000
)

// A Warning is what a gate has logged at Warn or above.
type Warning struct {
	Time time.Time
	Text string // message and attributes, 1,000 bytes at most
}

// keptLog has the last warnings, each message once. Any goroutine may use it.
type keptLog struct {
	mu   sync.Mutex    // guards what follows
	list []keptWarning // the newest last
}

type keptWarning struct {
	message string
	Warning
}

func (k *keptLog) add(message string, w Warning) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = slices.DeleteFunc(k.list, func(old keptWarning) bool { return old.message == message })
	if len(k.list) == maxWarnings {
		k.list = slices.Delete(k.list, 0, 1)
	}
	k.list = append(k.list, keptWarning{message, w})
}

func (k *keptLog) warnings() (list []Warning) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.list {
		list = append(list, w.Warning)
	}
	return list
}

type keepingHandler struct {
	slog.Handler
	kept  *keptLog
	attrs string
}

func (h *keepingHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || h.Handler.Enabled(ctx, level)
}

func (h *keepingHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		text := strings.Builder{}
		text.WriteString(r.Message)
		text.WriteString(h.attrs)
		r.Attrs(func(a slog.Attr) bool {
			text.WriteString(attrText(a))
			return text.Len() < maxWarningText
		})
		short := strings.ToValidUTF8(text.String()[:min(text.Len(), maxWarningText)], "")
		h.kept.add(r.Message, Warning{r.Time, short})
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h *keepingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	text := h.attrs
	for _, a := range attrs {
		text += attrText(a)
	}
	return &keepingHandler{h.Handler.WithAttrs(attrs), h.kept, text}
}

func (h *keepingHandler) WithGroup(name string) slog.Handler {
	return &keepingHandler{h.Handler.WithGroup(name), h.kept, h.attrs}
}

func attrText(a slog.Attr) string {
	value := a.Value.Resolve().String()
	if strings.ContainsAny(value, " \t\n") {
		return fmt.Sprintf(" %s=%q", a.Key, value)
	}
	return fmt.Sprintf(" %s=%s", a.Key, value)
}
