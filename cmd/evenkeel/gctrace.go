package main

import (
	"context"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/gclog"
)

const gctraceHelp = `
evenkeel gctrace [flags] [FILE]

Summarises the GODEBUG=gctrace=1 lines in a Go program's standard error, for each process in it.
Without FILE it reads standard input.

  evenkeel gctrace server.log
  evenkeel gctrace -from 10s -to 40s server.log     from the program's 10th to its 40th second

docs/gctrace.md explains each line.
`

func runGCTrace(ctx context.Context, a *cli.App, args []string) error {
	var part gclog.Part
	fs := a.NewFlags("gctrace", gctraceHelp)
	asJSON := fs.Bool("json", false, "print JSON")
	fs.Var(&part.From, "from", "leave out collections before this `time` since the program's start, such as 10s")
	fs.Var(&part.To, "to", "leave out collections after this `time` since the program's start")
	names, err := a.Operands(fs, args)
	if err != nil {
		return err
	}
	switch {
	case len(names) > 1:
		return a.Wrong(fs, "%d files; it reads one", len(names))
	case cli.Given(fs, "to") && part.To == 0:
		return a.Wrong(fs, "-to 0: write when the window ends, such as 40s, or leave it out for the end of the log")
	case part.To != 0 && part.To <= part.From:
		return a.Wrong(fs, "-to %v is not after -from %v", &part.To, &part.From)
	}
	in, name, err := cli.Open(append(names, "-")[0])
	if err != nil {
		return err
	}
	defer in.Close()
	ctx, release := a.Catch(ctx)
	defer release()
	return gclog.Show(ctx, a, in, name, part, *asJSON)
}
