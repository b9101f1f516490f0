package report

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
}

// phrase says in words what a cause is.
func phrase(c reqtrace.Cause) string {
	if int(c) < len(causeWords) {
		return causeWords[c].phrase
	}
	return c.String()
}

// causeOrder is the order of the causes in bars and legends: kin stand together.
var causeOrder = []reqtrace.Cause{
	reqtrace.CauseRunning, reqtrace.CauseAssistMark, reqtrace.CauseAssistWait, reqtrace.CauseSweep, reqtrace.CauseStopped, reqtrace.CauseRunqueueGC,
	reqtrace.CauseRunqueueBusy, reqtrace.CauseRunqueueIdle, reqtrace.CauseLock, reqtrace.CauseChannel, reqtrace.CauseNetwork, reqtrace.CauseSyscall,
	reqtrace.CauseCgo, reqtrace.CauseSleep, reqtrace.CauseUnknown,
}

// CauseGroup is causes that are asked for together.
type CauseGroup struct {
	Name   string
	Causes []reqtrace.Cause
}

// CauseGroups are the groups. The first is the collector's.
var CauseGroups = []CauseGroup{
	{"gc", []reqtrace.Cause{reqtrace.CauseAssistMark, reqtrace.CauseAssistWait, reqtrace.CauseSweep, reqtrace.CauseStopped, reqtrace.CauseRunqueueGC}},
	{"assists", []reqtrace.Cause{reqtrace.CauseAssistMark, reqtrace.CauseAssistWait}},
	{"queue", []reqtrace.Cause{reqtrace.CauseRunqueueGC, reqtrace.CauseRunqueueBusy, reqtrace.CauseRunqueueIdle}},
}

// gcCauses are what direct attribution books on the collector.
var gcCauses = CauseGroups[0].Causes

// present returns the causes, in their order, that take at least least of one of the parts.
func present(least float64, parts ...*reqtrace.Parts) []reqtrace.Cause {
	return slices.DeleteFunc(slices.Clone(causeOrder), func(c reqtrace.Cause) bool {
		return !slices.ContainsFunc(parts, func(p *reqtrace.Parts) bool {
			return p.Of(c) > 0 && float64(p.Of(c)) >= least*float64(p.Total())
		})
	})
}
