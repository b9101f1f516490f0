package main

import (
	"context"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
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
