package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev"
	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/explain"
	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/cmd/evenkeel/internal/page"
	"evenkeel.dev/cmd/evenkeel/internal/perfetto"
	"evenkeel.dev/cmd/evenkeel/internal/traces"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

const explainHelp = `
evenkeel explain [flags] TRACE
evenkeel explain [flags] TRACE TRACE...
evenkeel explain -against OLD [flags] NEW...

Says why the slowest requests of a Go server were slow. TRACE is an execution trace: a file, - for
standard input, the HOST:PORT of a server with net/http/pprof, or the URL of a recorder. With
several it says which service makes the requests of the first one slow. NAME=TRACE names one.

  evenkeel explain -demo                                  a recorded trace of a slow service
  evenkeel explain -html why.html 127.0.0.1:6060          5 s of a live server, and a page
  evenkeel explain shop=shop:6060 prices=prices:6060      which of two services is slow
  evenkeel explain -against 'old*.trace' new*.trace       what made the new version slower

docs/explain.md says how to read the report.
`

// demoTrace is 4 s of examples/search at 300 requests/s, with -alloc=lean -refresh=locked
// -ttl=1500ms and a feed of 200 ms, built with -trimpath.
//
//go:embed demo.trace.gz
var demoTrace []byte

const (
	demoName = "the recorded trace of -demo"
	demoPage = "evenkeel-demo.html"
	demoRows = 3
)

type explainFlags struct {
	demo     bool
	json     bool
	html     string
	perfetto string
	failIf   cli.List
	against  cli.List
	cpuStat  string
	options  reqtrace.Options
}

func (f *explainFlags) register(fs *flag.FlagSet) {
	fs.BoolVar(&f.demo, "demo", false, "explain a recorded trace, and write its page (-html, default "+demoPage+")")
	fs.BoolVar(&f.json, "json", false, "print JSON (docs/reference/explain-json.md)")
	fs.StringVar(&f.html, "html", "", "write a page to this `file`; - writes it in place of the text")
	fs.StringVar(&f.perfetto, "perfetto", "", "write the slowest requests to this `file`, for ui.perfetto.dev")
	fs.Func("fail-if", "exit with 3 beyond this `limit`, such as 'gc>30%' or 'p99.9+:lock>50%'; with -against "+
		"'lock>+10%' or 'total>+5%', and 4 if that is inconclusive; repeatable", f.failIf.Set)
	fs.Var(&f.against, "against", "compare with this `trace` of an old version, or a quoted pattern; repeatable")
	fs.StringVar(&f.options.Region, "region", "",
		"a request is a region of this `type`, or of those that match a pattern")
	fs.Var((*cli.List)(&f.options.Requests), "request",
		"a request is what follows each wait in this `function`, such as main.(*pool).worker; repeatable")
	fs.StringVar(&f.options.Class, "class", "", "explain requests of this `class` or pattern; - for those without one")
	fs.StringVar(&f.cpuStat, "cpu-stat", "",
		"read CPU times from this `file` (default: of the process that listens at the URL)")
	f.options.Slowest = 10
	fs.Var((*cli.Whole)(&f.options.Slowest), "slowest", "show so many of the slowest `requests`, at most 1000")
}

func runExplain(ctx context.Context, a *cli.App, args []string) error {
	var f explainFlags
	fs := a.NewFlags("explain", explainHelp,
		"Common flags: html against fail-if demo", "Requests: request region class slowest cpu-stat",
		"Results: json perfetto")
	f.register(fs)
	names, err := a.Operands(fs, args)
	if err != nil {
		return err
	}
	if f.demo && len(names) == 0 && f.against == nil {
		names = []string{demoName}
		if f.html == "" {
			f.html = demoPage
		}
	} else if f.demo {
		return a.Wrong(fs, "-demo has a trace of its own; leave out the others")
	}
	services, names := named(names)
	_, f.against = named(f.against)
	if len(names) < 2 || f.against != nil {
		services = nil
	}
	for _, list := range [][]string{names, f.against} {
		for i := range list {
			list[i] = addressed(list[i])
		}
	}
	limits, err := explain.ParseLimits(f.failIf, f.against != nil, services)
	err = cmp.Or(cli.Exclusive(fs, "against", "perfetto", "slowest", "cpu-stat"), f.wrong(names),
		f.wrongServices(services, names), err)
	if err != nil {
		return a.Wrong(fs, "%v", err)
	}
	ctx, release := a.Catch(ctx)
	defer release()
	if f.against != nil {
		return against(ctx, a, fs, &f, names, limits)
	}
	if err := cli.CanSave(names, f.html, f.perfetto); err != nil {
		return err
	}
	if services != nil {
		return acrossServices(ctx, a, fs, &f, services, names, limits)
	}
	if f.cpuStat != "" {
		if err := traces.ReadCPU(f.cpuStat, &f.options); err != nil {
			return err
		}
	}
	source, v, err := f.verdict(ctx, a, names[0])
	if err != nil {
		return wrongOption(a, fs, source, err)
	}
	// Files first, because a closed pipe may end the printing.
	err = errors.Join(
		a.SavePage(f.html, func(w io.Writer) error { return page.Explain(w, source, v) }),
		a.SaveAs(f.perfetto, "open it at https://ui.perfetto.dev or in chrome://tracing", func(w io.Writer) error {
			return perfetto.Write(w, source, v.Report())
		}),
		f.print(a, func(w io.Writer) error { return explain.WriteJSON(w, source, v) }, v.WriteText))
	r := v.Report()
	if r.Requests == 0 {
		return errors.Join(err, errors.New(v.Sentence))
	}
	hit, limitErr := limits.Check(v)
	a.Say("explain", hit...)
	switch err = errors.Join(err, limitErr); {
	case err != nil:
		return err
	case len(hit) > 0:
		return cli.ErrLimit
	case r.Broken != "":
		broken := fmt.Errorf("%s: %w: the report covers only the part before that (%s)", source,
			reqtrace.ErrBroken, r.Broken)
		if len(f.failIf) > 0 { // a limit that part of the trace keeps may be exceeded
			return broken
		}
		a.Say("explain", broken.Error())
	}
	return nil
}

func (f *explainFlags) wrong(names []string) error {
	switch {
	case len(names) == 0 && f.against != nil:
		return errors.New("no trace of the new version; write it after those of -against, whose patterns are quoted")
	case len(names) == 0:
		return errors.New("no trace; write a file, - for standard input, or HOST:PORT of a server with net/http/pprof")
	case f.options.Slowest > 1000:
		return fmt.Errorf("-slowest %d; it must be at most 1000", f.options.Slowest)
	case f.json && f.html == cli.ToStdout:
		return errors.New("-json and -html - both go to standard output; give the page a file")
	case f.perfetto == cli.ToStdout && (f.json || f.html == cli.ToStdout):
		return errors.New("-perfetto - goes to standard output, as another result does; give one of them a file")
	}
	return nil
}

// addressed returns the URL that HOST:PORT stands for. A file keeps its name.
func addressed(name string) string {
	at, _, _ := strings.Cut(name, "/")
	host, port, err := net.SplitHostPort(at)
	if _, numeric := strconv.ParseUint(port, 10, 16); err != nil || host == "" || numeric != nil || fetch.IsURL(name) {
		return name
	}
	if _, err := os.Stat(name); err == nil {
		return name
	}
	return "http://" + name
}

func wrongOption(a *cli.App, fs *flag.FlagSet, source string, err error) error {
	var option *evenkeel.OptionError
	switch {
	case errors.As(err, &option) && option.Option == "Requests":
		return a.Wrong(fs, "-request: %s", option.Reason)
	case errors.As(err, &option) && option.Option == "Class":
		return fmt.Errorf("%s: -class: %s", source, option.Reason)
	}
	return err
}

// print writes the result in JSON or as text, unless another result goes to standard output.
func (f *explainFlags) print(
	a *cli.App, asJSON func(io.Writer) error, asText func(io.Writer, verdict.Options) error,
) error {
	switch {
	case f.json:
		return asJSON(a.Stdout)
	case f.html == cli.ToStdout, f.perfetto == cli.ToStdout:
		return nil
	}
	o := verdict.Options{Color: a.Style.Color, Width: a.Width}
	if f.demo {
		o.Rows = demoRows
	}
	return asText(a.Stdout, o)
}

func (f *explainFlags) verdict(
	ctx context.Context, a *cli.App, name string,
) (source string, v *verdict.Verdict, err error) {
	if name != demoName {
		return traces.Verdict(ctx, a, name, f.options)
	}
	v, err = traces.Analyze(ctx, demoName, bytes.NewReader(demoTrace), f.options)
	return demoName, v, err
}

func against(
	ctx context.Context, a *cli.App, fs *flag.FlagSet, f *explainFlags, names []string, limits explain.Limits,
) error {
	sides := [2][]string{f.against, names}
	for i := range sides {
		var err error
		if sides[i], err = expand(sides[i]); err != nil {
			return a.Wrong(fs, "%v", err)
		}
	}
	if err := cli.CanSave(append(sides[0], sides[1]...), f.html); err != nil {
		return err
	}
	var reports [2][]*reqtrace.Report
	var broken error
	for i, list := range sides {
		for _, name := range list {
			source, v, err := f.verdict(ctx, a, name)
			if err != nil {
				return wrongOption(a, fs, source, err)
			}
			r := v.Report()
			if r.Requests == 0 {
				return fmt.Errorf("%s: %s", source, v.Sentence)
			}
			if r.Broken != "" {
				broken = errors.Join(broken, fmt.Errorf("%s: %w: only the part before that is compared (%s)", source,
					reqtrace.ErrBroken, r.Broken))
			}
			reports[i] = append(reports[i], r)
		}
	}
	c, err := verdict.Compare(reports[0], reports[1], "old", "new")
	if err != nil {
		return err
	}
	err = errors.Join(a.SavePage(f.html, func(w io.Writer) error { return page.Change(w, c) }),
		f.print(a, func(w io.Writer) error { return explain.WriteChange(w, sides, c) }, c.WriteText))
	lines, limitErr := limits.CheckChange(c)
	a.Say("explain", lines...)
	// The rest of a broken trace may exceed a limit that its beginning keeps.
	return cmp.Or(errors.Join(err, broken), limitErr)
}

// expand returns the files that match. A name without a file may be a URL.
func expand(patterns []string) (names []string, err error) {
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		_, notThere := os.Stat(p)
		switch {
		case fetch.IsURL(p), notThere == nil: // even if it reads as a pattern
			found = []string{p}
		case err != nil:
			return nil, fmt.Errorf("%q is not a pattern of files: %w", p, err)
		case found == nil && strings.ContainsAny(p, "*["):
			return nil, fmt.Errorf("no file matches %q", p)
		case found == nil:
			found = []string{p}
		}
		for _, name := range found { // a file counts once, a URL each time
			if fetch.IsURL(name) || !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}
