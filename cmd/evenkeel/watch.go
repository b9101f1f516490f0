package main

import (
	"context"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/watch"
)

const watchHelp = `
evenkeel watch [flags] URL...

Shows replicas behind gates (package gcgate), live: state, heap against its thresholds, who has the
turn, requests that met a collection, the last collections, and what needs an operator: since the
first look, and with -once since the gate's start. Each URL is a replica's own status page, as
httpgate.Status serves it: not one behind a balancer.

  evenkeel watch http://10.0.0.7:8080/debug/gate http://10.0.0.8:8080/debug/gate
  evenkeel watch -once URL...                 one look, for a script
  evenkeel watch -json URL...                 an object a line, each second
  evenkeel watch -haproxy 127.0.0.1:9199,be URL...
                                              and names servers of that backend that are in DRAIN
                                              though nobody is away: left behind by a process that
                                              was killed

With -once it ends with exit code 1 where a replica does not answer.
`

func runWatch(ctx context.Context, a *cli.App, args []string) error {
	interval := cli.Period(time.Second)
	fs := a.NewFlags("watch", watchHelp)
	once := fs.Bool("once", false, "look once, and end")
	asJSON := fs.Bool("json", false, "print each look as a line of JSON")
	balancer := fs.String("haproxy", "",
		"ask HAProxy's stats socket too, as `ADDR,BACKEND`: 127.0.0.1:9199,be or unix:/run/haproxy.sock,be")
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
	w, err := watch.New(a, names, *balancer)
	if err != nil {
		return a.Wrong(fs, "%v", err)
	}
	w.Once, w.AsJSON = *once, *asJSON
	ctx, release := a.Catch(ctx)
	defer release()
	return w.Run(ctx, time.Duration(interval))
}
