package reqtrace

import (
	"encoding/json"
	"iter"
	"maps"
	"time"

	"evenkeel.dev/internal/enum"
)

// Cause is what a moment of a request's time went into. Store names, because numbers change.
type Cause uint8

// The causes. A new one goes at the end. It needs a name in causeNames, words in
// internal/verdict/vocabulary.go, a colour in internal/chart/causes.css, and rows in docs/explain.md and
// docs/reference/explain-json.md.
const (
	CauseUnknown    Cause = iota
	CauseRunning          // in its own code, or that of goroutines that work for it
	CauseAssistMark       // marking for the collector, because it allocates
	// waiting for the collector, because it allocates
	CauseAssistWait
	CauseSweep        // sweeping, because it allocates
	CauseStopped      // the collector stops the world
	CauseRunqueueGC   // runnable, and the collector has the processor
	CauseRunqueueBusy // runnable, and other goroutines have the processors
	CauseRunqueueIdle // runnable, and a processor is idle
	CauseSyscall      // in a system call
	CauseCgo          // in C
	CauseNetwork      // waiting for a connection
	CauseLock         // waiting for a lock, a wait group or a condition
	CauseChannel      // waiting for a channel, until another goroutine works for it
	CauseSleep        // waiting for a time
	CauseMachine      // the machine stood still
	CauseStoppedOther // the program stops the world
	CauseThrottled    // its CPU quota was used up
	CauseDescheduled  // the kernel ran something else on its CPU
	numCauses
)

// Causes returns all causes.
func Causes() []Cause {
	list := make([]Cause, numCauses)
	for c := range list {
		list[c] = Cause(c)
	}
	return list
}

var causeNames = enum.Of[Cause]("reqtrace", "a cause", []string{
	CauseUnknown: "unknown", CauseRunning: "running", CauseAssistMark: "assist", CauseAssistWait: "assist-wait",
	CauseSweep: "sweep", CauseStopped: "stopped",
	CauseRunqueueGC: "runqueue-gc", CauseRunqueueBusy: "runqueue", CauseRunqueueIdle: "runqueue-idle",
	CauseSyscall: "syscall", CauseCgo: "cgo",
	CauseNetwork: "network", CauseLock: "lock", CauseChannel: "channel", CauseSleep: "sleep", CauseMachine: "machine",
	CauseStoppedOther: "stopped-other", CauseThrottled: "throttled", CauseDescheduled: "descheduled",
}...)

func (c Cause) String() string { return causeNames.String(c) }

// MarshalText returns the cause's name.
func (c Cause) MarshalText() ([]byte, error) { return causeNames.Marshal(c) }

// UnmarshalText reads a cause's name. Another text, such as of a later release, is CauseUnknown.
func (c *Cause) UnmarshalText(text []byte) error {
	*c = CauseUnknown
	_ = causeNames.Parse(text, c)
	return nil
}

// Parts is a time by its causes. In JSON it is an object of nanoseconds by the names of causes. It
// can be compared by ==.
type Parts struct {
	ns [numCauses]time.Duration
}

// Of returns the time of one cause.
func (p Parts) Of(c Cause) time.Duration {
	if c >= numCauses {
		return 0
	}
	return p.ns[c]
}

// Share returns which part of the total is c's, from 0 to 1.
func (p Parts) Share(c Cause) float64 {
	if total := p.Total(); total > 0 {
		return float64(p.Of(c)) / float64(total)
	}
	return 0
}

// All yields the causes that have a time.
func (p Parts) All() iter.Seq2[Cause, time.Duration] {
	return func(yield func(Cause, time.Duration) bool) {
		for c, d := range p.ns {
			if d != 0 && !yield(Cause(c), d) {
				return
			}
		}
	}
}

// Total returns the sum of p.
func (p Parts) Total() (sum time.Duration) {
	for _, d := range p.ns {
		sum += d
	}
	return sum
}

// Add adds d to the time of c. An unknown cause counts as CauseUnknown.
func (p *Parts) Add(c Cause, d time.Duration) {
	if c >= numCauses {
		c = CauseUnknown
	}
	p.ns[c] += d
}

func (p *Parts) addAll(q Parts) {
	for c, d := range q.ns {
		p.ns[c] += d
	}
}

// MarshalJSON writes the causes that have a time.
func (p Parts) MarshalJSON() ([]byte, error) {
	return json.Marshal(maps.Collect(p.All()))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Parts) UnmarshalJSON(b []byte) error {
	var times map[string]time.Duration // several names may be of unknown causes
	if err := json.Unmarshal(b, &times); err != nil {
		return err
	}
	*p = Parts{}
	for name, d := range times {
		var c Cause
		_ = c.UnmarshalText([]byte(name))
		p.Add(c, d)
	}
	return nil
}

func dur(ns int64) time.Duration { return time.Duration(ns) }
