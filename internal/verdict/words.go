package verdict

import (
	"slices"

	"evenkeel.dev/reqtrace"
)

type causeWord struct {
	phrase string
	letter byte   // in bars of text
	ansi   string // its colour in a terminal
}

var causeWords = [...]causeWord{
	reqtrace.CauseUnknown:      {"unknown", '?', "2"},
	reqtrace.CauseRunning:      {"running on a CPU", 'r', "90"},
	reqtrace.CauseAssistMark:   {"marking for the GC (assist)", 'A', "31"},
	reqtrace.CauseAssistWait:   {"waiting for the GC (assist)", 'a', "91"},
	reqtrace.CauseSweep:        {"sweeping for the GC", 'w', "31"},
	reqtrace.CauseStopped:      {"a stop of the world by the GC", 'X', "1;31"},
	reqtrace.CauseRunqueueGC:   {"waiting for a CPU (GC workers ran)", 'G', "35"},
	reqtrace.CauseRunqueueBusy: {"waiting for a CPU (other goroutines ran)", 'Q', "33"},
	reqtrace.CauseRunqueueIdle: {"waiting for a CPU (one was idle)", 'q', "93"},
	reqtrace.CauseSyscall:      {"in a system call", 'S', "32"},
	reqtrace.CauseCgo:          {"in C (cgo)", 'c', "92"},
	reqtrace.CauseNetwork:      {"waiting for the network", 'N', "36"},
	reqtrace.CauseLock:         {"waiting for a lock", 'L', "34"},
	reqtrace.CauseChannel:      {"waiting for a channel", 'C', "94"},
	reqtrace.CauseSleep:        {"waiting for a timer", 'z', "96"},
	reqtrace.CauseMachine:      {"the machine stood still", 'M', "2;31"},
	reqtrace.CauseStoppedOther: {"a stop of the world, not by the GC", 'H', "95"},
	reqtrace.CauseThrottled:    {"waiting for the CPU quota (throttled)", 'T', "1;33"},
	reqtrace.CauseDescheduled:  {"waiting for a CPU (other processes ran)", 'D', "2;33"},
}

// Phrase names a cause in words: "waiting for a CPU (GC workers ran)".
func Phrase(c reqtrace.Cause) string {
	if int(c) < len(causeWords) {
		return causeWords[c].phrase
	}
	return c.String()
}

// causeOrder is the order of the causes in bars and legends.
var causeOrder = []reqtrace.Cause{
	reqtrace.CauseRunning, reqtrace.CauseAssistMark, reqtrace.CauseAssistWait, reqtrace.CauseSweep,
	reqtrace.CauseStopped, reqtrace.CauseRunqueueGC,
	reqtrace.CauseStoppedOther, reqtrace.CauseThrottled, reqtrace.CauseDescheduled, reqtrace.CauseRunqueueBusy,
	reqtrace.CauseRunqueueIdle, reqtrace.CauseLock, reqtrace.CauseChannel, reqtrace.CauseNetwork, reqtrace.CauseSyscall,
	reqtrace.CauseCgo, reqtrace.CauseSleep, reqtrace.CauseMachine, reqtrace.CauseUnknown,
}

// Causes returns the causes that take at least this share (0 to 1) of one of these parts, in the
// order of bars and legends. Without parts it returns all causes.
func Causes(share float64, of ...reqtrace.Parts) []reqtrace.Cause {
	return slices.DeleteFunc(slices.Clone(causeOrder), func(c reqtrace.Cause) bool {
		return len(of) > 0 && !slices.ContainsFunc(of, func(p reqtrace.Parts) bool {
			return p.Of(c) > 0 &&
				p.Share(c) >= share
		})
	})
}

// Group is causes that belong together, as in evenkeel explain -fail-if 'gc>30%'.
type Group struct {
	Name   string
	Causes []reqtrace.Cause
}

var gcCauses = []reqtrace.Cause{
	reqtrace.CauseAssistMark, reqtrace.CauseAssistWait, reqtrace.CauseSweep, reqtrace.CauseStopped,
	reqtrace.CauseRunqueueGC,
}

// Groups returns the groups: gc, assists and queue.
func Groups() []Group {
	return []Group{
		{"gc", slices.Clone(gcCauses)},
		{"assists", []reqtrace.Cause{reqtrace.CauseAssistMark, reqtrace.CauseAssistWait}},
		{"queue", []reqtrace.Cause{reqtrace.CauseRunqueueGC, reqtrace.CauseRunqueueBusy, reqtrace.CauseRunqueueIdle}},
	}
}

// Limits returns what an execution trace cannot show.
func Limits() []string {
	return []string{
		"Waits for a CPU in the kernel, if its counts were not read. They look like running on a CPU.",
		"Page faults, and what C or the kernel does inside a call.",
		"A request's time on the network and in the socket, before its goroutine is woken.",
		"The address of a lock. A wait is named by the place that waits and the function that unlocked.",
	}
}
