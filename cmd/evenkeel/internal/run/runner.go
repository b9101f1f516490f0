// Package run measures variants of a service in rounds.
package run

import (
	"context"
	"slices"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/judge"
	"evenkeel.dev/cmd/evenkeel/internal/load"
	"evenkeel.dev/cmd/evenkeel/internal/proc"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/cmd/evenkeel/internal/traces"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/loadgen"
)

type flags struct {
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

// Runner measures variants of one service.
type Runner struct {
	app      *cli.App
	flags    *flags
	command  []string
	load     loadgen.Options
	variants []variant
	File     runfile.File

	take     func(context.Context, variant, int) (*runfile.Run, error) // nil: measure
	now      func() time.Time
	twin     string // first or second, while -aa measures
	standing string

	explanations []explained
	unexplained  error
}

func (r *Runner) stop(server *proc.Process) error {
	ctx, cancel := r.app.Patience()
	defer cancel()
	return server.Stop(ctx, time.Duration(r.flags.stopTimeout))
}

// ExplainAgain starts a variant again, and says why its requests were slow.
func (r *Runner) ExplainAgain(ctx context.Context, variant int, url string) (*verdict.Verdict, error) {
	server, err := proc.Start(proc.Options{Args: slices.Concat(r.command, r.variants[variant].args)})
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.stop(server) }() // or kill it
	if err := AwaitReady(ctx, r.flags.ready, r.load.TLS, server, time.Duration(r.flags.readyTimeout)); err != nil {
		return nil, err
	}
	p := load.NewProgress(r.app, "")
	defer p.Clear()
	x := traces.Tracing{Server: server, URL: url, Load: r.load, Progress: p}
	_, v, err := x.Explain(ctx)
	return v, err
}

type explained struct {
	label   string
	source  string
	verdict *verdict.Verdict
}

func (x *explained) heading(variants int) string {
	if variants > 1 {
		return "why requests were slow: " + x.label
	}
	return "why requests were slow"
}
