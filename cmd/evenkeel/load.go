package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"slices"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/load"
	"evenkeel.dev/cmd/evenkeel/internal/observe"
	"evenkeel.dev/cmd/evenkeel/internal/page"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

const loadHelp = `
evenkeel load [flags] URL...

Puts HTTP load on a running service and prints the latency that its clients see. With -rate it
sends at that rate even while the service stalls, so a stall shows in the tail. Ctrl-C ends early.

  evenkeel load -rate 2000 -z 30s http://127.0.0.1:8080/    open loop, 2,000 requests per second
  evenkeel load -c 100 -n 10000 http://127.0.0.1:8080/      closed loop on 100 connections
  evenkeel load -find 'p99 < 20ms' http://127.0.0.1:8080/   the highest rate that keeps this limit

docs/load.md has more.
`

type loadCommand struct {
	app     *cli.App
	load    load.Flags
	options loadgen.Options

	label      string
	pprof      string
	pprofGiven bool
	gctrace    string // log; "": none
	html       string
	failIf     load.Limits
	find       load.Goal
	part       load.ShareFlags
	unix       string
}

func (c *loadCommand) register(fs *flag.FlagSet) {
	c.load.Register(fs)
	c.part.Register(fs)
	fs.StringVar(&c.label, "label", "load", "`name` of this run in tables")
	fs.StringVar(&c.pprof, "pprof", "", "`URL` of the service's /debug/pprof/, or off (default: at the first URL)")
	fs.StringVar(&c.gctrace, "gctrace", "", "growing `log` of the service's gctrace lines, - for standard input")
	fs.StringVar(&c.unix, "unix", "", "connect to this Unix `socket` instead of the URL's host")
	fs.StringVar(&c.html, "html", "", "write a page to this `file`")
	fs.Var(&c.find, "find", "search the highest rate that keeps this `condition`, in steps of -z (default 10s)")
	fs.Func("fail-if", "exit with 3 beyond this `limit`, such as 'p99>20ms', 'failed>0.1%', 'CLASS:p99>9ms' or "+
		"'rate<1000/s'; repeatable", cli.Each(&c.failIf, load.ParseLimit))
}

func runLoad(ctx context.Context, a *cli.App, args []string) error {
	c := &loadCommand{app: a}
	fs := a.NewFlags("load", loadHelp, slices.Concat([]string{"Common flags: c n z rate t H d find o fail-if"},
		load.Groups, []string{
			"Other connections: unix", "Several machines: share start quiet",
			"Results: html label pprof gctrace",
		})...)
	c.register(fs)
	urls, err := a.Operands(fs, args)
	if err != nil {
		return err
	}
	err = cmp.Or(load.CheckGiven(fs),
		cli.Exclusive(fs, "find", "stages", "times", "n", "share", "start", "fail-if", "html", "gctrace"),
		c.prepare(fs, urls))
	if err != nil {
		return a.Wrong(fs, "%v", err)
	}
	if err := cli.CanSave(append(c.load.Inputs(), c.gctrace), c.load.Output, c.html); err != nil {
		return err
	}
	ctx, release := a.Catch(ctx)
	defer release()
	if c.find.Text != "" {
		f := load.NewFinder(a, c.find, c.options, observe.WhereIs(ctx, c.options.Targets))
		return f.Find(ctx, c.load.Output)
	}
	f, err := c.measure(ctx)
	if err != nil {
		return err
	}
	return c.report(f)
}

func (c *loadCommand) prepare(fs *flag.FlagSet, urls []string) (err error) {
	stdin := 0
	for _, name := range []string{c.load.BodyFile, c.load.Mix.File, c.gctrace} {
		if name == cli.ToStdout {
			stdin++
		}
	}
	switch {
	case stdin > 1:
		return errors.New("only one of -D, -targets and -gctrace can read standard input; give the others a file")
	case c.html == cli.ToStdout:
		return errors.New("-html - would mix with the table; use -o FILE, then evenkeel compare -html - FILE")
	}
	c.load.Mix.Share = c.part.Share
	if c.options, err = c.load.Options(urls); err != nil {
		return err
	}
	if len(c.options.Targets) == 0 {
		return errors.New("no URL; write one, such as http://127.0.0.1:8080/, or a file of them behind -targets")
	}
	if err := c.part.Apply(fs, &c.options); err != nil {
		return err
	}
	if err := load.Fit(&c.options); err != nil {
		return err
	}
	if c.unix != "" {
		if err := load.ByUnix(&c.options, c.unix); err != nil {
			return err
		}
	}
	checked := c.options
	if c.find.Text != "" && checked.Rate == 0 {
		checked.Rate = 1
	}
	if err := loadgen.Check(checked); err != nil {
		return load.FlagError(err)
	}
	if err := c.failIf.Known(classNames(c.options.Targets)); err != nil {
		return err
	}
	// With shares, each profile would make the service collect.
	if c.pprofGiven = c.pprof != ""; c.pprof == "off" || !c.pprofGiven && (c.part.Share != nil || c.unix != "") {
		c.pprof = "off"
		return nil
	}
	first, err := url.Parse(c.options.Targets[0].URL)
	if err != nil {
		return err
	}
	c.pprof, err = load.PProfAt(c.pprof, first)
	return err
}

func classNames(targets []loadgen.Target) (names []string) {
	seen := map[string]bool{}
	for _, t := range targets {
		if name := cmp.Or(t.Class, t.Method+" "+t.URL); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

func (c *loadCommand) measure(ctx context.Context) (*runfile.File, error) {
	o, stop, err := observe.ObserveRunning(ctx, &c.options, c.pprof, c.pprofGiven, c.gctrace)
	if err != nil {
		return nil, err
	}
	defer stop()
	o.Run.Label, o.Run.Repeat, o.Run.Mix = c.label, 1, c.load.Mix.Made
	shown := *c.app
	if c.part.Quiet {
		shown.Stderr, shown.Terminal = io.Discard, false
	}
	p := load.NewProgress(&shown, "")
	if err := c.part.Wait(ctx, p, c.options.Rate); err != nil {
		return nil, err
	}
	o.Run.Share = c.part.Share
	c.options.OnMeasure = func() { o.Begin(ctx) }
	o.Run.Load, err = p.Run(ctx, c.options)
	if err != nil {
		return nil, err
	}
	o.Loaded()
	o.End(ctx)
	o.AwaitLog(ctx)
	stop()
	o.FillRunning()
	return &runfile.File{
		Version: runfile.Version, Tool: runfile.Tool(), Machine: runfile.ThisMachine(), Runs: []runfile.Run{o.Run},
	}, nil
}

// report writes files first, because a closed pipe may end the printing.
func (c *loadCommand) report(f *runfile.File) error {
	err := errors.Join(c.app.Save(f, c.load.Output), c.app.SavePage(c.html, func(w io.Writer) error {
		return page.Compare(w, compare.Files([]*runfile.File{f}, []string{c.load.Output}))
	}))
	run := &f.Runs[0]
	if c.load.Output != cli.ToStdout {
		err = errors.Join(err, compare.WriteLoad(c.app.Stdout, run, c.app.Style))
		if run.Alloc != nil && len(run.Alloc.Lines) > 0 {
			fmt.Fprintln(c.app.Stdout)
			err = errors.Join(err, observe.WriteSites(c.app.Stdout, run.Alloc, c.app.Style))
		}
	}
	bad := load.HintHTTP2(load.CheckRuns(f), &c.options, run.Load)
	if errors.Is(bad, load.ErrGenerator) {
		return errors.Join(err, bad)
	}
	hit, limitErr := c.failIf.Check(run)
	c.app.Say("load", hit...)
	if err = errors.Join(err, cmp.Or(bad, limitErr)); err == nil && len(hit) > 0 {
		return cli.ErrLimit
	}
	return err
}
