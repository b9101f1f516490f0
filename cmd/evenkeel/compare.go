package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"evenkeel.dev/internal/compare"
	"evenkeel.dev/internal/page"
	"evenkeel.dev/internal/runfile"
)

const compareHelp = `
evenkeel compare [flags] run.json...

Puts the runs of one or more files side by side, a column a variant. Runs of one label in a file are
repeats: the table has their median, its ratio to the first variant's (-base chooses another), and in
brackets where the true ratio lies. ~ stands for a ratio that these runs cannot tell from 1. The more
figures are judged, the wider are the brackets: -figures p99 judges one. - is standard input.

  evenkeel compare before.json after.json
  evenkeel compare -base default -figures p99,p99.9 run.json
  evenkeel compare -html page.html run.json     one page that needs nothing else: latency
                                                histogram and CCDF, latency and heap over time
  evenkeel compare -events events.ndjson -html page.html run.json
                                                and what happened meanwhile: collections under
                                                gcgate, deployments, failovers

An events file has a line each time that something enters a state, in which it stays until its
next line; events are placed on the runs during which they happened, by the clock:

  {"t":"2026-11-21T10:00:00.5Z","source":"replica 1","state":"collecting"}
`

func runCompare(_ context.Context, a *app, args []string) error {
	fs := a.newFlags("compare", compareHelp)
	html := fs.String("html", "", "write a self-contained page to this `file` (- for standard output)")
	var judging judgeFlags
	judging.register(fs)
	asJSON := fs.Bool("json", false, "write the comparison as JSON, see docs/reference/compare-json.md")
	var eventNames list
	fs.Var(&eventNames, "events", "place the events of this `file` on the time line (- for standard input); can be repeated")
	names, rest, err := a.parse(fs, args)
	if err != nil {
		return err
	}
	names = append(names, rest...)
	if err := judging.check(); err != nil {
		return a.wrong(fs, "%v", err)
	}
	if *asJSON && *html == toStdout {
		return a.wrong(fs, "-json and -html - both write to standard output; give the page a file")
	}
	if len(names) == 0 {
		return a.wrong(fs, "no file; evenkeel run -o run.json and evenkeel load -o run.json write them")
	}
	if i := slices.Index(eventNames, "-"); i >= 0 && (slices.Contains(names, "-") || slices.Contains(eventNames[i+1:], "-")) {
		return a.wrong(fs, "-events - and another - both read standard input; give one of them as a file")
	}
	if err := canSave(append(slices.Clip(eventNames), names...), *html); err != nil {
		return err
	}
	var files []*runfile.File
	for i, n := range names {
		f, err := readRunFile(n)
		if err != nil {
			return err
		}
		if n == "-" {
			names[i] = stdinName
		}
		files = append(files, f)
	}
	var events []*runfile.Events
	for _, n := range eventNames {
		e, err := readEvents(n)
		if err != nil {
			return err
		}
		events = append(events, e)
	}
	c := compare.Files(files, names)
	if err := judging.apply(c); err != nil {
		return err
	}
	c.SetEvents(events)
	if *html == toStdout {
		return page.Compare(a.stdout, c)
	}
	if err := a.page(c, *html); err != nil {
		return err
	}
	if *asJSON {
		return c.JSON(a.stdout)
	}
	return c.Text(a.stdout, a.style)
}

func readRunFile(name string) (*runfile.File, error) {
	if name != "-" {
		return runfile.ReadFile(name)
	}
	f, err := runfile.Read(os.Stdin)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stdinName, err)
	}
	return f, nil
}

func readEvents(name string) (*runfile.Events, error) {
	if name != "-" {
		return runfile.ReadEventsFile(name)
	}
	return runfile.ReadEvents(os.Stdin, stdinName)
}
