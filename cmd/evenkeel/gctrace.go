package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/textfmt"
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
	var part gcPart
	fs := a.NewFlags("gctrace", gctraceHelp)
	follow := fs.Bool("f", false, "follow: show the last minute again and again while the log grows")
	asJSON := fs.Bool("json", false, "print the summary of each process, and what the log was like, as JSON")
	fs.Var(&part.from, "from", "leave out collections that ended up to this `time` since the program's start, such as 10s; a bare number is seconds (default 0)")
	fs.Var(&part.to, "to", "leave out collections that ended after this `time` since the program's start (default: none)")
	fs.Var((*cli.Whole)(&part.skip), "skip", "leave out the first `N` collections of the log (default 0)")
	names, rest, err := a.Parse(fs, args)
	if err != nil {
		return err
	}
	names = append(names, rest...)
	switch {
	case len(names) > 1:
		return a.Wrong(fs, "%d files; it reads one", len(names))
	case part.skip < 0:
		return a.Wrong(fs, "-skip %d; write how many collections to leave out", part.skip)
	case cli.Given(fs, "to") && part.to == 0:
		return a.Wrong(fs, "-to 0: write when the window ends, such as 40s, or leave it out for the end of the log")
	case part.to != 0 && part.to <= part.from:
		return a.Wrong(fs, "-to %v is not after -from %v", &part.to, &part.from)
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
	if *follow && in != os.Stdin {
		in = &tail{ctx: ctx, f: in, poll: followPoll}
	}
	v := &gcView{app: a, follow: *follow && !*asJSON, toEnd: *follow && ends, log: scanLog(in)}
	r := part.summarize(v.cycles(ctx))
	err = v.end(name, r, *asJSON)
	if ctx.Err() != nil && !*follow {
		err = errors.Join(err, cli.ErrInterrupted)
	}
	return err
}

// end prints the summaries of the whole log.
func (v *gcView) end(name string, r *gcReport, asJSON bool) error {
	v.erase()
	var stats gctrace.Stats
	if v.ended {
		stats = v.log.stats
		if v.log.err != nil {
			return fmt.Errorf("%s: %w", name, v.log.err)
		}
	}
	switch {
	case r.total > 0:
	case stats.FivePhases > 0:
		return fmt.Errorf("%s: %s gctrace lines of Go 1.5, which have five phases, and are not read here: build the program with a newer Go",
			name, textfmt.Count(float64(stats.FivePhases)))
	case stats.Lost > 0:
		return fmt.Errorf("%s: %s lines begin like gctrace lines, and none of them is whole; keep the program's standard error as it is, without breaking its lines",
			name, textfmt.Count(float64(stats.Lost)))
	default:
		return fmt.Errorf("%s: no gctrace line in it; start the program with GODEBUG=gctrace=1 and keep its standard error", name)
	}
	counted := int64(0)
	for i := range r.processes {
		counted += r.processes[i].Summary.Collections
	}
	if counted == 0 {
		return fmt.Errorf("%s: no collection of it is in the window; it has %s: change -from, -to or -skip", name, r.extent())
	}
	if asJSON {
		return v.json(r, &stats)
	}
	for i := range r.processes {
		p := &r.processes[i]
		if r.total > 1 {
			fmt.Fprintf(v.app.Stdout, "%sprocess %d of %d: ", lineUnless(i == 0), r.total-len(r.processes)+i+1, r.total)
		}
		fmt.Fprintf(v.app.Stdout, "%s\n\n", p.head())
		if err := writeSummary(v.app.Stdout, &p.Summary, p.Util, v.app.Style); err != nil {
			return err
		}
	}
	v.notes(r, &stats)
	return nil
}

// lineUnless returns an empty line unless the text that follows is the first.
func lineUnless(first bool) string {
	if first {
		return ""
	}
	return "\n"
}

// json prints all as JSON. summary is there for a log of one process only, so that nobody takes
// a part of a longer one for the whole.
func (v *gcView) json(r *gcReport, stats *gctrace.Stats) error {
	var one *gctrace.Summary
	if r.total == 1 {
		one = &r.processes[0].Summary
	}
	e := json.NewEncoder(v.app.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Summary   *gctrace.Summary `json:"summary,omitempty"`
		Processes []gcProcess      `json:"processes"`
		Log       *gctrace.Stats   `json:"log"`
	}{one, r.processes, stats})
}

// notes says what a reader must know before believing the figures.
func (v *gcView) notes(r *gcReport, stats *gctrace.Stats) {
	note := func(format string, a ...any) { fmt.Fprintf(v.app.Stdout, "! "+format+"\n", a...) }
	switch {
	case r.sources > 1:
		note("collections of %d processes, told apart by the prefixes of their lines", r.total)
	case r.total > 1:
		note("collections of %d processes, one after the other: their numbers or times begin anew", r.total)
	}
	if n := r.total - len(r.processes); n > 0 {
		note("the first %d processes are left out: did several programs write into this log at once?", n)
	}
	if r.total == 1 && r.part.to != 0 {
		if p := &r.processes[0]; p.until < time.Duration(r.part.to) {
			note("the log ends at %s, before -to: that nothing was collected from then on is a guess", textfmt.Duration(p.until))
		}
	}
	if stats.Recovered > 0 {
		note("lines that other output or a line break had cut, and that were put together again: %d", stats.Recovered)
	}
	if stats.Lost > 0 {
		note("collections whose lines are missing or could not be read: %s", textfmt.Count(float64(stats.Lost)))
	}
	if stats.FivePhases > 0 {
		note("gctrace lines of Go 1.5, which have five phases and are not read: %s", textfmt.Count(float64(stats.FivePhases)))
	}
	if stats.Truncated {
		note("the log ends in the middle of a line")
	}
}
