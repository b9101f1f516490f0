package main

import (
	"context"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/judge"
	"evenkeel.dev/cmd/evenkeel/internal/load"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace/verdict"
)

type runFlags struct {
	load         load.Flags
	urls         cli.List
	ready        string
	readyTimeout cli.Period
	stopTimeout  cli.Period
	pprof        string
	variants     cli.List
	judging      judge.Flags
	repeat       int
	until        untilFlags
	seed         uint64
	aa           bool
	top          int
	html         string
	explain      bool
	explainHTML  string
	traces       string
	verbose      bool
}

// runner measures variants of one service.
type runner struct {
	app      *cli.App
	flags    *runFlags
	command  []string
	load     loadgen.Options
	variants []variant
	file     runfile.File

	take     func(context.Context, variant, int) (*runfile.Run, error) // measures; nil: measure
	now      func() time.Time                                          // nil: time.Now
	twin     string                                                    // first or second, while the floor is measured
	standing string                                                    // what -until has found so far, for the progress line

	explanations []explained
	unexplained  error // why one of them is missing
}

// explained is the verdict on one trace of a variant.
type explained struct {
	label   string
	source  string // of the trace
	verdict *verdict.Verdict
}

// heading says whose verdict follows.
func (x *explained) heading(variants int) string {
	if variants > 1 {
		return "why requests were slow: " + x.label
	}
	return "why requests were slow"
}
