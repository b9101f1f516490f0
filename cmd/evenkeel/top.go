package main

import (
	"context"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/replicas"
	"evenkeel.dev/cmd/evenkeel/internal/traces"
)

const topHelp = `
evenkeel top [flags] URL...

Shows what makes a service's requests slow, of all its replicas together, and on a terminal again
every two seconds. Each URL is that of a recorder (package evenkeel.dev/reqtrace/recorder) in a replica;
without a path it is /debug/evenkeel/ there. This command fetches the snapshots that a recorder
keeps, the newest first, and analyses each of them once.

  evenkeel top http://10.0.0.1:6060 http://10.0.0.2:6060   the last hour, live; Ctrl-C ends
  evenkeel top -since 10m http://127.0.0.1:6060            the last ten minutes
  evenkeel top http://127.0.0.1:6060 > now.txt             once, because a file is not a terminal; or use -once
  evenkeel top -every 1m http://127.0.0.1:6060 >> log      a line each minute
  evenkeel top -json http://127.0.0.1:6060 > now.json      what they say, added up, as JSON

Each slow request counts for the one cause that took most of it beyond the usual request of its
class. What replicas counted is added, nothing is averaged. A replica that does not answer is
named, and the others are shown; exit code 1 where none does. NEW are causes that were first seen
within the last hour, or that no build before the last had, if that was watched for an hour. They
need a recorder with Options.InProcess or Analyze.
`

func runTop(ctx context.Context, a *cli.App, args []string) error {
	fs := a.NewFlags("top", topHelp)
	since, every := cli.Period(time.Hour), cli.Period(2*time.Second)
	fs.Var(&since, "since", "show the last `time`, such as 10m; 0 for all that is kept")
	fs.Var(&every, "every", "refresh after this `time`; into a file or a pipe, refresh only with this flag")
	rows := cli.Whole(12)
	fs.Var(&rows, "n", "show so many `causes`")
	once := fs.Bool("once", false, "look once")
	asJSON := fs.Bool("json", false, "look once, and print the sum as JSON (docs/reference/history-json.md)")
	names, err := a.Operands(fs, args)
	if err != nil {
		return err
	}
	switch {
	case len(names) == 0:
		return a.Wrong(fs, "no URL; write those of all replicas' recorders, as http://HOST:PORT%s", traces.RecorderPath)
	case rows < 1:
		return a.Wrong(fs, "-n %d; it must be at least 1", rows)
	case every < cli.Period(100*time.Millisecond):
		return a.Wrong(fs, "-every %v; it must be at least 100ms", time.Duration(every))
	}
	v, err := replicas.New(a, names, false)
	if err != nil {
		return a.Wrong(fs, "%v", err)
	}
	defer v.Close()
	v.Since, v.Rows = time.Duration(since), int(rows)
	ctx, release := a.Catch(ctx)
	defer release()
	if *once || *asJSON || !a.View && !cli.Given(fs, "every") {
		return v.Once(ctx, *asJSON)
	}
	return v.Follow(ctx, time.Duration(every))
}
