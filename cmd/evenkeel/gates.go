package main

import (
	"context"
	"io"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/cmd/evenkeel/internal/plan"
	"evenkeel.dev/cmd/evenkeel/internal/watch"
)

const watchHelp = `
evenkeel watch [flags] URL...

Shows replicas behind gates live: state, heap, turn, last collections, and what needs an operator.
Each URL is the status page of one replica, as httpgate.Status serves it, not of a balancer.

  evenkeel watch http://10.0.0.7:8080/debug/gate http://10.0.0.8:8080/debug/gate
  evenkeel watch -once -json http://10.0.0.7:8080/debug/gate
`

func runWatch(ctx context.Context, a *cli.App, args []string) error {
	interval := cli.Period(time.Second)
	fs := a.NewFlags("watch", watchHelp)
	once := fs.Bool("once", false, "look once; exit with 1 if a replica does not answer")
	asJSON := fs.Bool("json", false, "print a line of JSON per look")
	fs.Var(&interval, "every", "look again after this `time`")
	names, err := a.Operands(fs, args)
	if err != nil {
		return err
	}
	switch {
	case len(names) == 0:
		return a.Wrong(fs, "no URL; name the status page of each replica, such as http://10.0.0.7:8080/debug/gate")
	case interval < cli.Period(100*time.Millisecond):
		return a.Wrong(fs, "-every %v is too short; write at least 100ms", &interval)
	}
	w, err := watch.New(a, names)
	if err != nil {
		return a.Wrong(fs, "%v", err)
	}
	w.Once, w.AsJSON = *once, *asJSON
	ctx, release := a.Catch(ctx)
	defer release()
	return w.Run(ctx, time.Duration(interval))
}

const planHelp = `
evenkeel plan [flags] SOURCE

Says how many replicas, how much memory and how many turns a load needs, with and without gates.
SOURCE is a run.json, - for standard input, or a URL that httpgate.Status serves.

  evenkeel plan run.json                            replicas for the measured load
  evenkeel plan -times 4 -memory 2GiB run.json      for four times the load, 2 GiB each
  evenkeel plan -n 4 http://10.0.0.7:8080/debug/gate

docs/plan.md explains each row.
`

func runPlan(ctx context.Context, a *cli.App, args []string) error {
	f := plan.Options{Watch: cli.Period(10 * time.Second)}
	fs := a.NewFlags("plan", planHelp)
	fs.Var((*cli.Whole)(&f.Replicas), "n", "there are `N` replicas (default: the status page's, or as many as needed)")
	fs.Var((*cli.Whole)(&f.Turns), "k", "`K` replicas may collect at once (default: the status page's, or 1)")
	fs.Var(&f.Memory, "memory", "memory limit of a replica, such as `2GiB` (default: the status page's, or none)")
	fs.Var(&f.Times, "times", "plan for so many `times` the load (default 1, or all replicas of a status page)")
	fs.Var(&f.Held, "held", "a collection holds its turn for this `time` (default: as measured, or an estimate)")
	fs.Var(&f.Watch, "for", "watch a status page for this `time`")
	fs.StringVar(&f.Label, "label", "", "use the runs with this `label`")
	asJSON := fs.Bool("json", false, "print JSON")
	names, err := a.Operands(fs, args)
	if err != nil {
		return err
	}
	switch {
	case len(names) == 0:
		return a.Wrong(fs, "no source; name a run.json, or the URL of a status page")
	case len(names) > 1:
		return a.Wrong(fs, "%d sources; it reads one", len(names))
	case max(f.Replicas, f.Turns) > 1e6:
		return a.Wrong(fs, "-n %d, -k %d; each may be 1000000 at most", f.Replicas, f.Turns)
	case cli.Given(fs, "times") && !(f.Times > 0 && f.Times <= 1e12):
		return a.Wrong(fs, "-times %v; write a number above 0, such as 2", float64(f.Times))
	case f.Watch < cli.Period(time.Second):
		return a.Wrong(fs, "-for %v is too short to see what is allocated; write at least 1s", &f.Watch)
	case cli.Given(fs, "held") && f.Held == 0:
		return a.Wrong(fs, "-held %v; write for how long a collection holds its turn", &f.Held)
	case cli.Given(fs, "for") && !fetch.IsURL(names[0]):
		return a.Wrong(fs, "-for watches a status page, and %s is not one", names[0])
	case f.Label != "" && fetch.IsURL(names[0]):
		return a.Wrong(fs, "-label is of a run.json, and %s is not one", names[0])
	}
	p, err := plan.Of(ctx, names[0], f)
	if err != nil {
		return err
	}
	if *asJSON {
		return cli.WriteJSON(a.Stdout, p)
	}
	_, err = io.WriteString(a.Stdout, p.Text(a.Style))
	return err
}
