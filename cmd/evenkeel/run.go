package main

import (
	"context"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/demo"
	"evenkeel.dev/cmd/evenkeel/internal/run"
)

const runHelp = `
evenkeel run [flags] -- COMMAND ARGS...

Starts a Go server, loads it as evenkeel load does, and prints its latency and what its garbage
collector cost. It measures several -variant of the server in rounds of random order.

  evenkeel run -url http://127.0.0.1:8080/ -rate 600 -z 5s -- ./server -addr 127.0.0.1:8080
  evenkeel run -url http://127.0.0.1:8080/ -rate 600 -z 5s -until 10% \
    -variant 'default:' -variant 'no gc: GOGC=off' -variant 'big: -cache=1000' -- ./server
  evenkeel run -url http://127.0.0.1:8080/ -rate 600 -z 5s -repeat 12 -fail-if 'p99 > +20%' \
    -variant 'base: SERVER=bin/base' -variant 'head: SERVER=bin/head' -- sh -c 'exec $SERVER'

docs/compare.md explains the table.
`

func runRun(ctx context.Context, a *cli.App, args []string) error {
	r, err := run.New(a, runHelp, args)
	if err != nil {
		return err
	}
	return r.Run(ctx)
}

const demoHelp = `
evenkeel demo [flags]

Shows in two minutes why a recorded service was slow, whether a fix helps, and what gates change.
It needs the programs search and hello of the examples. make demo builds them and runs this.
`

func runDemo(ctx context.Context, a *cli.App, args []string) error {
	d := &demo.Demo{App: a, Explain: runExplain}
	fs := a.NewFlags("demo", demoHelp)
	fs.StringVar(&d.Bin, "bin", "bin", "`folder` of the programs search and hello")
	fs.StringVar(&d.Out, "out", "demo", "`folder` for the pages")
	fs.BoolVar(&d.Quick, "quick", false, "load each part for a moment only")
	operands, err := a.Operands(fs, args)
	if err != nil {
		return err
	}
	if len(operands) > 0 {
		return a.Wrong(fs, "it reads nothing; leave out %q", operands[0])
	}
	return d.Run(ctx)
}
