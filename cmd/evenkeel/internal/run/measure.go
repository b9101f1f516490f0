// Package run measures variants of a service in rounds.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/load"
	"evenkeel.dev/cmd/evenkeel/internal/observe"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/cmd/evenkeel/internal/traces"
	"evenkeel.dev/internal/proc"
	"evenkeel.dev/internal/textfmt"
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
	judging      compare.Flags
	repeat       int
	until        untilFlags
	seed         uint64
	html         string
	explain      bool
	traces       string
}

type Runner struct {
	app      *cli.App
	flags    *flags
	command  []string
	load     loadgen.Options
	variants []variant
	File     runfile.File

	take  func(context.Context, variant, int) (*runfile.Run, error) // measure, but in tests
	now   func() time.Time
	soFar string

	explanations []explained
	unexplained  error
}

func (r *Runner) stop(server *proc.Process) error {
	return server.Stop(r.app.Hurry(), time.Duration(r.flags.stopTimeout))
}

func (r *Runner) ExplainAgain(ctx context.Context, variant int, url string) (*verdict.Verdict, error) {
	if err := free(ctx, r.flags.ready); err != nil {
		return nil, err
	}
	p := load.NewProgress(r.app, "")
	defer p.Clear()
	pass := &observe.Passer{W: p}
	server, err := proc.Start(proc.Options{
		Args:   slices.Concat(r.command, r.variants[variant].args),
		Stderr: func(r io.Reader) { _, _ = io.Copy(pass, r) },
	})
	if err != nil {
		return nil, err
	}
	var v *verdict.Verdict
	err = AwaitReady(ctx, r.flags.ready, r.load.TLS, server, time.Duration(r.flags.readyTimeout))
	if err == nil {
		x := traces.Tracing{Server: server, URL: url, Load: r.load, Progress: p}
		v, err = x.Explain(ctx)
	}
	_ = r.stop(server) // or kill it
	if err != nil {
		return nil, withLastWords(pass, err)
	}
	return v, nil
}

type explained struct {
	label   string
	verdict *verdict.Verdict
}

type measurement struct {
	runner  *Runner
	variant variant
	repeat  int

	observe.Observer
	progress *load.Progress
	pass     *observe.Passer
	server   *proc.Process

	peakRSS int64
}

const (
	// diedWithin is how long to look for a dead server after failed requests, refusedWithin if
	// nothing listens.
	diedWithin    = 2 * time.Second
	refusedWithin = 30 * time.Second

	placesOfEach = 3 // that allocate, of several variants
)

func (r *Runner) measure(ctx context.Context, v variant, repeat int) (*runfile.Run, error) {
	m := &measurement{runner: r, variant: v, repeat: repeat, progress: load.NewProgress(r.app, r.labelOf(v, repeat))}
	m.pass = &observe.Passer{W: m.progress}
	defer m.progress.Clear()
	if r.flags.pprof != "off" {
		m.Profiler = observe.NewProfiler(r.flags.pprof, r.load.TLS)
	}
	command := slices.Concat(r.command, v.args)
	m.Run = runfile.Run{Label: v.label, Repeat: repeat, Command: command, Env: v.env, Mix: r.flags.load.Mix.Made}

	if err := free(ctx, r.flags.ready); err != nil {
		return nil, err
	}
	m.progress.Say("starting %s", strings.Join(slices.Concat(v.env, command), " "))
	server, err := proc.Start(proc.Options{
		Args: command, Env: withGCTrace(v.env),
		Stderr: func(r io.Reader) { m.Trace.Read(r, m.pass) },
	})
	if err != nil {
		return nil, err
	}
	m.server, m.Traced = server, true
	m.Service.Processes = server.Processes
	err = AwaitReady(ctx, r.flags.ready, r.load.TLS, server, time.Duration(r.flags.readyTimeout))
	if err == nil {
		err = m.loadServer(ctx)
	}
	m.peakRSS = proc.PeakRSS(server.Processes())
	if err == nil && r.traced(repeat) {
		m.explainWindow(ctx)
	}
	stopErr := r.stop(server)
	if err != nil {
		return nil, withLastWords(m.pass, err)
	}
	m.assemble(stopErr)
	return &m.Run, nil
}

func (r *Runner) labelOf(v variant, repeat int) string {
	switch {
	case r.flags.until.width > 0:
		return fmt.Sprintf("%s, round %d%s", v.label, repeat, r.soFar)
	case len(r.variants)*r.flags.repeat > 1:
		return fmt.Sprintf("%s %d/%d", v.label, repeat, r.flags.repeat)
	}
	return ""
}

func withGCTrace(env []string) []string {
	debug := os.Getenv("GODEBUG")
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "GODEBUG="); ok {
			debug = v
		}
	}
	if debug != "" {
		debug += ","
	}
	return append(slices.Clone(env), "GODEBUG="+debug+"gctrace=1")
}

func (m *measurement) loadServer(ctx context.Context) error {
	loadCtx, cancel := m.server.Until(ctx)
	defer cancel()
	o := m.runner.load
	o.OnMeasure = func() { m.Begin(loadCtx) }
	res, err := m.progress.Run(loadCtx, o)
	if err != nil {
		return err
	}
	m.Loaded()
	if m.died(ctx, res) {
		return fmt.Errorf("%w under load after %s answers: %s", errEnded, textfmt.Count(float64(res.Answered)),
			m.server.Exit())
	}
	m.Run.Load = res
	m.End(ctx)
	return nil
}

func (m *measurement) explainWindow(ctx context.Context) {
	r := m.runner
	x := traces.Tracing{
		Server: m.server, URL: m.Profiler.Base + "trace", Load: r.load, Progress: m.progress,
		Keep: r.traceFile(m.variant.label, m.repeat),
	}
	v, err := x.Explain(ctx)
	switch {
	case ctx.Err() != nil: // said already
	case err != nil:
		if len(r.variants) > 1 {
			err = fmt.Errorf("%s: %w", m.variant.label, err)
		}
		r.unexplained = errors.Join(r.unexplained, fmt.Errorf("-explain: %w", err))
	default:
		r.explanations = append(r.explanations, explained{m.variant.label, v})
	}
}

func (m *measurement) died(ctx context.Context, res *loadgen.Result) bool {
	within := time.Duration(0)
	if res.Failed > 0 && ctx.Err() == nil {
		within = diedWithin
		if refused(ctx, m.runner.flags.ready) {
			within = refusedWithin
		}
	}
	select {
	case <-m.server.Done():
	case <-time.After(within):
	case <-ctx.Done():
	}
	return m.server.Ended()
}

func withLastWords(of *observe.Passer, err error) error {
	last := of.Last()
	switch {
	case errors.Is(err, cli.ErrInterrupted):
		return err
	case len(last) == 0 && errors.Is(err, errEnded):
		return fmt.Errorf("%w\nit wrote nothing to standard error; start it by itself to see its standard output", err)
	case len(last) == 0:
		return err
	}
	return fmt.Errorf("%w\nthe last it wrote to standard error:\n  %s", err, strings.Join(last, "\n  "))
}

func (m *measurement) assemble(stopErr error) {
	m.Run.Server = &runfile.Server{PeakRSSBytes: m.peakRSS, CPU: m.server.CPU(), Exit: m.server.Exit()}
	if stopErr != nil {
		m.Note("the server did not stop gently: %v", stopErr)
	}
	places := observe.Places
	if len(m.runner.variants) > 1 {
		places = placesOfEach
	}
	m.Fill(places)
	if m.Unprofiled != nil {
		estimated := ""
		if m.Run.Alloc != nil {
			estimated = "; allocated/request is estimated from gctrace"
		}
		m.Note("%v: import net/http/pprof in the server, or say with -pprof where it is, or off%s", m.Unprofiled,
			estimated)
	}
}
