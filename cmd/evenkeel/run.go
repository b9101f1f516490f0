package main

import (
	"context"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/run"
)

const runHelp = `
evenkeel run [flags] -- COMMAND ARGS...

Starts a Go server with GODEBUG=gctrace=1, waits until it answers, puts load on it as evenkeel
load does, stops it with SIGTERM, and prints its throughput, its latency and what its garbage
collector cost. Where the server has /debug/pprof/ (net/http/pprof) it also says where it
allocated. The server's standard error is passed through; its standard output is discarded.
-explain traces a few seconds more of the same load and says why the slowest requests were slow; of
several variants each of the last three rounds is traced, and it says what differs between them.

  evenkeel run -url http://127.0.0.1:8080/ -c 100 -n 10000 -- ./server -addr 127.0.0.1:8080

Several ways to start it can be compared, each -repeat times, in rounds whose order is drawn by
lot. What follows the label goes into the environment (NAME=VALUE) or behind the command's own
arguments. -until goes on in rounds until p99 is known that well, the answer is clear, or the
-budget is spent:

  evenkeel run -url http://127.0.0.1:8080/ -rate 2000 -z 20s -repeat 9 -o run.json \
    -variant 'default:' -variant 'no gc: GOGC=off' -variant 'twice: GOGC=200' -- ./server
  evenkeel run -url http://127.0.0.1:8080/ -rate 2000 -z 5s -until 10% -budget 10m \
    -variant 'default:' -variant 'twice: GOGC=200' -- ./server

For CI: -fail-if has exit code 3 when a variant's figure has changed by more than the limit for
certain, 4 when the runs cannot tell, as evenkeel compare has:

  evenkeel run -url http://127.0.0.1:8080/ -rate 500 -z 10s -repeat 12 -fail-if 'p99 > +20%' \
    -variant 'base: SERVER=bin/base' -variant 'head: SERVER=bin/head' -- sh -c 'exec $SERVER'

A -fail-if that so few requests or rounds cannot tell is refused before the first start. After ten
rounds evenkeel says how many a limit takes, and -until ends if its -budget has no room for them.

-aa measures the machine first: one variant against itself. What that shows is noise, and a change
below this floor is not coloured in the table. With one variant it measures nothing else.

All figures cover the window from the first measured request to the last answer.
`

func runRun(ctx context.Context, a *cli.App, args []string) error {
	r, err := run.New(a, runHelp, args)
	if err != nil {
		return err
	}
	return r.Run(ctx)
}
