package reqtrace

import "evenkeel.dev/internal/enum"

// Cause is what a moment of a request's time went into. Releases may add causes, and do not change
// the meaning or the name of one. Store names, because a number holds for one build alone.
type Cause uint8

// The causes. A new one goes at the end, and needs a name in causeNames, words in
// internal/verdict/words.go, a colour in internal/chart/causes.css, and rows in
// docs/explain.md and docs/reference/explain-json.md.
const (
	CauseUnknown    Cause = iota
	CauseRunning          // in its own code, or that of goroutines which work for it
	CauseAssistMark       // marking, to pay for its allocations
	// waiting for the collector before it may allocate
	CauseAssistWait
	CauseSweep        // sweeping, to pay for its allocations
	CauseStopped      // the collector stops the world
	CauseRunqueueGC   // runnable, and the collector has the processor
	CauseRunqueueBusy // runnable, and other goroutines have the processors
	CauseRunqueueIdle // runnable, and a processor is idle
	CauseSyscall      // in a system call
	CauseCgo          // in C
	CauseNetwork      // waiting for a connection
	CauseLock         // waiting for a lock, a wait group or a condition
	CauseChannel      // waiting for a channel, until others began to work for it
	CauseSleep        // waiting for a time
	CauseMachine      // the machine stood still: all processors were silent although there was work
	CauseStoppedOther // others than the collector stop the world
	CauseThrottled    // the CPU quota of its control group was used up
	CauseDescheduled  // the kernel ran other processes on the goroutine's CPU
	numCauses
)

// Causes returns all causes, in the order of their numbers.
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

// ParseCause returns the cause of that name. Another name is an error.
func ParseCause(name string) (c Cause, err error) {
	err = causeNames.Parse([]byte(name), &c)
	return c, err
}

// MarshalText returns the cause's name. It fails for another value.
func (c Cause) MarshalText() ([]byte, error) { return causeNames.Marshal(c) }

// UnmarshalText is [ParseCause].
func (c *Cause) UnmarshalText(text []byte) error { return causeNames.Parse(text, c) }
