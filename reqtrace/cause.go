package reqtrace

import "evenkeel.dev/internal/enum"

// Cause is what a moment of a request's time went into. Each nanosecond has exactly one.
//
// Releases may add causes; none changes its meaning or its name. What is written down has names, so
// a number means something only within one build. [Causes] lists them, and code that treats some
// of them alike needs a default for those that it does not know.
type Cause uint8

// The causes. To add one: a constant at the end of this list, its name in causeNames, its words and
// its place in reqtrace/verdict/words.go, its colour in internal/chart/causes.css, its rows in
// docs/guides/explain.md and docs/reference/explain-json.md. Tests tell what of the code is missing.
const (
	CauseUnknown    Cause = iota
	CauseRunning          // on a processor, in its own code or in that of goroutines it waits for
	CauseAssistMark       // marking for the collector, to pay for its allocations
	// waiting for the collector when it allocates: for others to mark, or for a cycle to begin or end
	CauseAssistWait
	CauseSweep        // sweeping, to pay for its allocations
	CauseStopped      // the collector stops the world
	CauseRunqueueGC   // runnable, and who marks for the collector has the processor: a worker, or an assist
	CauseRunqueueBusy // runnable, and other goroutines have the processors
	CauseRunqueueIdle // runnable, and a processor is idle: on the way to it
	CauseSyscall      // in a system call
	CauseCgo          // in C
	CauseNetwork      // waiting for a connection
	CauseLock         // waiting for a lock, a wait group or a condition
	CauseChannel      // waiting for a channel, while others had what it waits for
	CauseSleep        // waiting for time to pass
	CauseMachine      // the machine stood still: no processor did anything, though there was work
	CauseStoppedOther // others than the collector stop the world: for a stack trace of all goroutines, say
	CauseThrottled    // the CPU quota of the process's control group was used up
	CauseDescheduled  // the kernel ran other processes on the CPU although the goroutine had a processor
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

// ParseCause returns the cause of that name.
func ParseCause(name string) (c Cause, err error) {
	err = causeNames.Parse([]byte(name), &c)
	return c, err
}

// MarshalText returns the cause's name. It fails for another value.
func (c Cause) MarshalText() ([]byte, error) { return causeNames.Marshal(c) }

// UnmarshalText is [ParseCause].
func (c *Cause) UnmarshalText(text []byte) error { return causeNames.Parse(text, c) }
