package main

import (
	"context"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/watch"
)

const watchHelp = `
evenkeel watch [flags] URL...

Shows replicas behind gates live: state, heap, turn, last collections, and what needs an operator.
Each URL is the status page of one replica, as httpgate.Status serves it, not of a balancer.

  evenkeel watch http://10.0.0.7:8080/debug/gate http://10.0.0.8:8080/debug/gate
  evenkeel watch -once -json http://10.0.0.7:8080/debug/gate
  evenkeel watch -haproxy 127.0.0.1:9199,be http://10.0.0.7:8080/debug/gate
`

func runWatch(ctx context.Context, a *cli.App, args []string) error {
	interval := cli.Period(time.Second)
	fs := a.NewFlags("watch", watchHelp)
	once := fs.Bool("once", false, "look once; exit with 1 if a replica does not answer")
	asJSON := fs.Bool("json", false, "print a line of JSON per look")
	balancer := fs.String("haproxy", "",
		"find servers left in DRAIN by HAProxy's stats socket, `ADDR,BACKEND`, such as unix:/run/haproxy.sock,be")
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
