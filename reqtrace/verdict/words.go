package verdict

import (
	"slices"

	"evenkeel.dev/reqtrace"
)

// causeWord is how a cause is called where people read it.
type causeWord struct {
	phrase string
	letter byte   // in bars of text
	ansi   string // its colour in a terminal
}

// causeWords is the one place that says in words what a cause is.
var causeWords = [...]causeWord{
	reqtrace.CauseUnknown:      {"unknown", '?', "2"},
	reqtrace.CauseRunning:      {"running", 'r', "90"},
	reqtrace.CauseAssistMark:   {"mark assist", 'A', "31"},
	reqtrace.CauseAssistWait:   {"waiting for the collector", 'a', "91"},
	reqtrace.CauseSweep:        {"sweeping for its allocations", 'w', "31"},
	reqtrace.CauseStopped:      {"stopped world", 'X', "1;31"},
	reqtrace.CauseRunqueueGC:   {"run queue behind mark workers", 'G', "35"},
	reqtrace.CauseRunqueueBusy: {"run queue behind other goroutines", 'Q', "33"},
	reqtrace.CauseRunqueueIdle: {"run queue, a processor is idle", 'q', "93"},
	reqtrace.CauseSyscall:      {"system call", 'S', "32"},
	reqtrace.CauseCgo:          {"C (cgo)", 'c', "92"},
	reqtrace.CauseNetwork:      {"upstream or client (network)", 'N', "36"},
	reqtrace.CauseLock:         {"lock", 'L', "34"},
	reqtrace.CauseChannel:      {"channel", 'C', "94"},
	reqtrace.CauseSleep:        {"sleep or timer", 'z', "96"},
	reqtrace.CauseMachine:      {"the machine stood still", 'M', "2;31"},
}

// Phrase says in words what a cause is: "run queue behind mark workers".
func Phrase(c reqtrace.Cause) string {
	if int(c) < len(causeWords) {
		return causeWords[c].phrase
	}
	return c.String()
}

// causeOrder is the order of the causes in bars and legends: kin stand together.
var causeOrder = []reqtrace.Cause{
	reqtrace.CauseRunning, reqtrace.CauseAssistMark, reqtrace.CauseAssistWait, reqtrace.CauseSweep, reqtrace.CauseStopped, reqtrace.CauseRunqueueGC,
	reqtrace.CauseRunqueueBusy, reqtrace.CauseRunqueueIdle, reqtrace.CauseLock, reqtrace.CauseChannel, reqtrace.CauseNetwork, reqtrace.CauseSyscall,
	reqtrace.CauseCgo, reqtrace.CauseSleep, reqtrace.CauseMachine, reqtrace.CauseUnknown,
}

// Causes returns the causes that take some time of one of these parts, and at least this share of it
// (0 to 1), in the order of bars and legends: related causes stand beside each other. Without parts
// it returns all causes.
func Causes(share float64, of ...reqtrace.Parts) []reqtrace.Cause {
	return slices.DeleteFunc(slices.Clone(causeOrder), func(c reqtrace.Cause) bool {
		return len(of) > 0 && !slices.ContainsFunc(of, func(p reqtrace.Parts) bool { return p.Of(c) > 0 && p.Share(c) >= share })
	})
}

// Group is causes that are asked for together, as in `evenkeel explain -fail-if 'gc>30%'`.
type Group struct {
	Name   string
	Causes []reqtrace.Cause
}

// gcCauses are what direct attribution counts as the collector's.
var gcCauses = []reqtrace.Cause{
	reqtrace.CauseAssistMark, reqtrace.CauseAssistWait, reqtrace.CauseSweep, reqtrace.CauseStopped, reqtrace.CauseRunqueueGC,
}

// Groups returns the groups: gc, assists and queue.
func Groups() []Group {
	return []Group{
		{"gc", slices.Clone(gcCauses)},
		{"assists", []reqtrace.Cause{reqtrace.CauseAssistMark, reqtrace.CauseAssistWait}},
		{"queue", []reqtrace.Cause{reqtrace.CauseRunqueueGC, reqtrace.CauseRunqueueBusy, reqtrace.CauseRunqueueIdle}},
	}
}

// Limits returns what an execution trace cannot show, for whoever reads a report of one.
func Limits() []string {
	return []string{
		"waits for a processor in the kernel, and time a hypervisor took (steal): both look like running",
		"page faults, and what C or the kernel does inside a call: only that the call is under way",
		"a request's time in the socket before its goroutine is woken, and on the network before that",
		"which lock it was: a wait is named by the place that waits and the function that let go",
	}
}
