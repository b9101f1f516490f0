package gcgate

import (
	"log/slog"
	"sync"
	"time"
)

// An Outage logs a failure that begins and ends again and again, at most once per minute. The
// attribute "times" says how often it began. The zero value is ready. Its methods may be called
// from any goroutine.
type Outage struct {
	mu sync.Mutex
	of warning // guarded by mu
}

// Began warns that the failure began, unless it did so within the last minute.
func (o *Outage) Began(log *slog.Logger, message string, args ...any) {
	o.mu.Lock()
	o.of.happened()
	times, due := o.of.line(time.Now(), o.of.period(warnEvery))
	o.mu.Unlock() // a Logger may hang
	if due {
		log.Warn(message, withTimes(args, times)...)
	}
}

// Over warns that the failure is over, if the log knows that it began.
func (o *Outage) Over(log *slog.Logger, message string, args ...any) {
	o.mu.Lock()
	times := o.of.close()
	o.mu.Unlock()
	if times > 0 {
		log.Warn(message, withTimes(args, times)...)
	}
}
