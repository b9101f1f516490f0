package gcgate

import (
	"log/slog"
	"sync"
	"time"
)

// An Outage logs a failure that begins and ends again and again, for a [Signal] or [Turns]. It logs
// at most once per minute, with how often it began as the attribute "times", and when it is over.
// The zero value is ready. Its methods may be called from any goroutine.
type Outage struct {
	mu sync.Mutex
	of warning // guarded by mu
}

// Began logs at level Warn that the failure began, unless that was logged within the last minute.
func (o *Outage) Began(log *slog.Logger, message string, args ...any) {
	o.mu.Lock()
	o.of.happened()
	times, due := o.of.line(time.Now(), o.of.period(warnEvery))
	o.mu.Unlock() // a Logger may hang
	if due {
		log.Warn(message, withTimes(args, times)...)
	}
}

// Over logs at level Warn that the failure is over, if the log knows that it began.
func (o *Outage) Over(log *slog.Logger, message string, args ...any) {
	o.mu.Lock()
	times := o.of.close()
	o.mu.Unlock()
	if times > 0 {
		log.Warn(message, withTimes(args, times)...)
	}
}
