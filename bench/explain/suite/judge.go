//go:build linux

package main

import (
	"slices"
	"strings"

	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

// said is what a verdict names first.
type said struct {
	Sentence string  `json:"sentence"`        // all that it says; of a run that failed: why
	Cause    string  `json:"cause,omitempty"` // "": nothing is named
	Share    float64 `json:"share,omitempty"`
	Site     string  `json:"site,omitempty"`
	Handler  string  `json:"handler,omitempty"`
	Op       string  `json:"op,omitempty"`
	Holder   string  `json:"holder,omitempty"`
	Doing    string  `json:"doing,omitempty"`
	DoingAt  string  `json:"doing_at,omitempty"`
	DoingOp  string  `json:"doing_op,omitempty"`
}

// saidBy returns what a verdict names first.
func saidBy(v *verdict.Verdict) said {
	s := said{Sentence: strings.Join(append([]string{v.Sentence}, v.LeftOut...), " ")}
	if !v.Named {
		return s
	}
	c := &v.Causes[0]
	s.Cause, s.Share, s.Site, s.Handler, s.Op = c.Cause.String(), c.Share, c.Site, c.Handler, c.Op
	s.Holder, s.DoingAt, s.DoingOp = c.Holder, c.DoingAt, c.DoingOp
	if c.Doing != reqtrace.CauseUnknown {
		s.Doing = c.Doing.String()
	}
	return s
}

// grade is how right a verdict is.
type grade struct {
	Cause    bool `json:"cause"`    // it is named first; of nothing: nothing is named
	Function bool `json:"function"` // where the requests wait, or what ran
	Holder   bool `json:"holder"`
	Doing    bool `json:"doing"` // what the holder did
	Op       bool `json:"op"`
}

func (g grade) all() bool { return g == grade{true, true, true, true, true} }

// judge holds what was said against the truth. What there is no truth about is right.
func judge(s said, t truth) grade {
	words := strings.Contains(s.Sentence, t.words)
	if len(t.causes) == 0 {
		none := s.Cause == "" && words
		return grade{none, none, none, none, none}
	}
	among := func(right []string, what string) bool { return len(right) == 0 || slices.Contains(right, what) }
	return grade{
		Cause:    slices.Contains(t.causes, s.Cause) && words,
		Function: among(t.at, function(s.Site)),
		Holder:   among(t.holder, function(s.Holder)),
		Doing:    among(t.doing, s.Doing),
		Op:       among(t.ops, s.Op),
	}
}

// function returns a place without its file, and without the closures in it: main.f.func1 is main.f.
func function(place string) string {
	name, _, _ := strings.Cut(place, " (")
	for {
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			return name
		}
		last := strings.TrimPrefix(name[dot+1:], "func")
		if last == "" || strings.Trim(last, "0123456789") != "" {
			return name
		}
		name = name[:dot]
	}
}
