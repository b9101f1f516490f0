package main

import (
	"context"
	"errors"
	"fmt"

	"evenkeel.dev/internal/report"
	"evenkeel.dev/loadgen"
)

const loadHelp = `
evenkeel load [flags] URL...

Puts HTTP/1.1 load on a service and prints what its clients would see. Several URLs are sent
in turn.

  evenkeel load -c 100 -n 10000 http://127.0.0.1:5000/     closed loop, as hey and ab do: each
                                                           connection waits for its answer
  evenkeel load -rate 2000 -z 30s http://127.0.0.1:5000/   open loop: 2,000 requests a second,
                                                           latency from the time each was due

Use the open loop for a tail: in a closed loop a stalled service is sent less, so its slowest
requests are hardly seen ("coordinated omission"). Ctrl-C ends early and still reports.
`

func runLoad(ctx context.Context, a *app, args []string) error {
	var l loadFlags
	fs := a.newFlags("load", loadHelp)
	l.register(fs)
	label := fs.String("label", "load", "`name` of this run in tables")
	urls, rest, err := a.parse(fs, args)
	if err != nil {
		return err
	}
	o, err := l.options(append(urls, rest...))
	if err != nil {
		return a.wrong(fs, "%v", err)
	}
	if len(o.Targets) == 0 {
		return a.wrong(fs, "no URL; write one, such as http://127.0.0.1:8080/")
	}
	p := &progress{w: a.stderr, terminal: a.terminal}
	res, err := p.load(ctx, o)
	var oe *loadgen.OptionError
	if errors.As(err, &oe) {
		return a.wrong(fs, "%v", err)
	} else if err != nil {
		return err
	}
	f := &report.File{
		Version: report.Version, Tool: report.Tool(), Machine: report.ThisMachine(),
		Runs: []report.Run{{Label: *label, Repeat: 1, Load: res}},
	}
	if err := report.Load(a.stdout, &f.Runs[0], a.style); err != nil {
		return err
	}
	return a.finish(f, l.output)
}

// load runs loadgen with the progress shown.
func (p *progress) load(ctx context.Context, o loadgen.Options) (*loadgen.Result, error) {
	o.OnProgress, o.ProgressInterval = p.update, p.interval()
	defer p.clear()
	return loadgen.Run(ctx, o)
}

// finish writes run.json where asked to, and says whether the runs were any good.
func (a *app) finish(f *report.File, output string) error {
	if output != "" {
		if err := f.Save(output); err != nil {
			return err
		}
		fmt.Fprintf(a.stderr, "wrote %s (evenkeel compare reads it)\n", output)
	}
	for _, r := range f.Runs {
		switch {
		case r.Load.Interrupted:
			return errInterrupted
		case r.Load.Answered == 0:
			return fmt.Errorf("%s: no request was answered", r.Label)
		}
	}
	return nil
}
