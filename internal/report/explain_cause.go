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
	reqtrace.Unknown:      {"unknown", '?', "2"},
	reqtrace.Running:      {"running", 'r', "90"},
	reqtrace.AssistMark:   {"mark assist", 'A', "31"},
	reqtrace.AssistWait:   {"waiting for the collector", 'a', "91"},
	reqtrace.Sweep:        {"sweeping for its allocations", 'w', "31"},
	reqtrace.Stopped:      {"stopped world", 'X', "1;31"},
	reqtrace.RunqueueGC:   {"run queue behind mark workers", 'G', "35"},
	reqtrace.RunqueueBusy: {"run queue behind other goroutines", 'Q', "33"},
	reqtrace.RunqueueIdle: {"run queue, a processor is idle", 'q', "93"},
	reqtrace.Syscall:      {"system call", 'S', "32"},
	reqtrace.Cgo:          {"C (cgo)", 'c', "92"},
	reqtrace.Network:      {"upstream or client (network)", 'N', "36"},
	reqtrace.Lock:         {"lock", 'L', "34"},
	reqtrace.Channel:      {"channel", 'C', "94"},
	reqtrace.Sleep:        {"sleep or timer", 'z', "96"},
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
	reqtrace.Running, reqtrace.AssistMark, reqtrace.AssistWait, reqtrace.Sweep, reqtrace.Stopped, reqtrace.RunqueueGC,
	reqtrace.RunqueueBusy, reqtrace.RunqueueIdle, reqtrace.Lock, reqtrace.Channel, reqtrace.Network, reqtrace.Syscall,
	reqtrace.Cgo, reqtrace.Sleep, reqtrace.Unknown,
}

// CauseGroup is causes that are asked for together.
type CauseGroup struct {
	Name   string
	Causes []reqtrace.Cause
}

// CauseGroups are the groups. The first is the collector's.
var CauseGroups = []CauseGroup{
	{"gc", []reqtrace.Cause{reqtrace.AssistMark, reqtrace.AssistWait, reqtrace.Sweep, reqtrace.Stopped, reqtrace.RunqueueGC}},
	{"assists", []reqtrace.Cause{reqtrace.AssistMark, reqtrace.AssistWait}},
	{"queue", []reqtrace.Cause{reqtrace.RunqueueGC, reqtrace.RunqueueBusy, reqtrace.RunqueueIdle}},
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
