package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evenkeel.dev/reqtrace"
)

// shares are parts of the tail's excess over the median, by group of causes.
type shares map[string]float64

// groups are causes that one sentence would name.
var groups = map[string][]reqtrace.Cause{
	"unknown":   {reqtrace.CauseUnknown},
	"running":   {reqtrace.CauseRunning},
	"assist":    {reqtrace.CauseAssistMark, reqtrace.CauseAssistWait, reqtrace.CauseSweep},
	"stopped":   {reqtrace.CauseStopped},
	"queue-gc":  {reqtrace.CauseRunqueueGC},
	"queue":     {reqtrace.CauseRunqueueBusy},
	"idle":      {reqtrace.CauseRunqueueIdle},
	"syscall":   {reqtrace.CauseSyscall},
	"cgo":       {reqtrace.CauseCgo},
	"network":   {reqtrace.CauseNetwork},
	"lock":      {reqtrace.CauseLock},
	"channel":   {reqtrace.CauseChannel},
	"sleep":     {reqtrace.CauseSleep},
	"machine":   {reqtrace.CauseMachine},
	"halted":    {reqtrace.CauseStoppedOther},
	"throttled": {reqtrace.CauseThrottled},
	"others":    {reqtrace.CauseDescheduled},
	"collector": nil, // assist, stopped and queue-gc together: beside, never named
}

func sharesOf(b *reqtrace.Band) shares {
	s := shares{}
	for name, causes := range groups {
		if x := b.Share(causes...); x > 0 {
			s[name] = x
		}
	}
	if x := s["assist"] + s["stopped"] + s["queue-gc"]; x > 0 {
		s["collector"] = x
	}
	return s
}

// order returns the groups, the largest first.
func (s shares) order() []string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(s)), func(n string) bool { return n == "collector" })
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(s[b], s[a]) })
	return names
}

// String lists the groups that matter.
func (s shares) String() string {
	var parts []string
	for _, n := range s.order() {
		if s[n] >= .02 {
			parts = append(parts, fmt.Sprintf("%s %.0f%%", n, 100*s[n]))
		}
	}
	return strings.Join(parts, ", ")
}

// mean returns the mean of several.
func mean(ss []shares) shares {
	m := shares{}
	for _, s := range ss {
		for n, x := range s {
			m[n] += x / float64(len(ss))
		}
	}
	return m
}
