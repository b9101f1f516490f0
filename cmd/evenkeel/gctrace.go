package main

import (
	"context"
	"io"
	"os"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/gclog"
)

const gctraceHelp = `
evenkeel gctrace [flags] [FILE]

Summarises the GODEBUG=gctrace=1 lines of any Go program's standard error, whatever else is in
it. Without FILE, or with -, it reads standard input.

  GODEBUG=gctrace=1 ./server 2> server.log
  evenkeel gctrace server.log
  evenkeel gctrace -from 10s -to 40s server.log
                                        only collections that ended from the program's 10th to
                                        its 40th second, as its @ says
  evenkeel gctrace -skip 20 server.log  all but the first 20, for instance those of the start
  tail -100 server.log | evenkeel gctrace
                                        from where the first line of these begins
  evenkeel gctrace -f server.log        follow it while it grows: the last minute, every second;
                                        Ctrl-C ends with the summary of all
  GODEBUG=gctrace=1 ./server 2>&1 >/dev/null | evenkeel gctrace -f

A log of a program that was started again holds several processes one after the other: each has
a summary of its own, and -from, -to and -skip apply to each. Several at once are told apart by
the prefixes of docker compose and kubectl; without such prefixes give each a log of its own.

Where numbers of collections are missing, their lines were lost. Collections and pace count them all
the same; every other total is of the lines there are, and says so.

The runtime's own percentage, in its lines, is the share since the program's start, however
little of it the log or the window covers; "time in GC" is that of the window.
`

func runGCTrace(ctx context.Context, a *cli.App, args []string) error {
	var part gclog.Part
	fs := a.NewFlags("gctrace", gctraceHelp)
	follow := fs.Bool("f", false, "follow: show the last minute again and again while the log grows")
	asJSON := fs.Bool("json", false, "print the summary of each process, and what the log was like, as JSON")
	fs.Var(&part.From, "from", "leave out collections that ended up to this `time` since the program's start, such "+
		"as 10s; a bare number is seconds (default 0)")
	fs.Var(&part.To, "to", "leave out collections that ended after this `time` since the program's start (default: "+
		"none)")
	fs.Var((*cli.Whole)(&part.Skip), "skip", "leave out the first `N` collections of the log (default 0)")
	names, err := a.Operands(fs, args)
	if err != nil {
		return err
	}
	switch {
	case len(names) > 1:
		return a.Wrong(fs, "%d files; it reads one", len(names))
	case part.Skip < 0:
		return a.Wrong(fs, "-skip %d; write how many collections to leave out", part.Skip)
	case cli.Given(fs, "to") && part.To == 0:
		return a.Wrong(fs, "-to 0: write when the window ends, such as 40s, or leave it out for the end of the log")
	case part.To != 0 && part.To <= part.From:
		return a.Wrong(fs, "-to %v is not after -from %v", &part.To, &part.From)
	}
	in, name, ends := io.Reader(os.Stdin), "standard input", false // a pipe has no end while somebody may write to it
	if len(names) == 1 && names[0] != "-" {
		f, err := os.Open(names[0])
		if err != nil {
			return err
		}
		defer f.Close()
		fi, err := f.Stat()
		in, name, ends = f, names[0], err == nil && fi.Mode().IsRegular()
	}
	ctx, release := a.Catch(ctx)
	defer release()
	return gclog.Show(ctx, a, in, name, gclog.Options{Part: part, Follow: *follow, Ends: ends, JSON: *asJSON})
}
