package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/exchange"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
)

const convertHelp = `
evenkeel convert [flags] FILE

Makes a run.json of what another tool wrote, or writes a run's histogram for other tools. It finds
the format of FILE by its contents: vegeta, k6, hey, an HdrHistogram log, a list.

  evenkeel convert -o vegeta.json results.gob       results of vegeta, for evenkeel compare
  evenkeel convert -unit 1ms latencies.txt          a list with a latency per line
  evenkeel convert -to hlog run.json                an HdrHistogram log

docs/reference/formats.md says what each format lacks.
`

func runConvert(_ context.Context, a *cli.App, args []string) error {
	var o exchange.Options
	fs := a.NewFlags("convert", convertHelp)
	from := fs.String("from", "", "read this `format` (default: by the contents)")
	to := fs.String("to", "", "write this `format`: hlog (default: run)")
	output := fs.String("o", "", "write to this `file` (default: standard output)")
	unit := "values are multiples of this `duration` (default 1ns in an .hlog)"
	fs.Func("unit", unit, func(s string) (err error) {
		if o.Unit, err = time.ParseDuration(s); err != nil || o.Unit <= 0 || o.Unit > time.Hour {
			return errors.New("write a duration from 1ns to 1h, such as 1us or 1ms")
		}
		return nil
	})
	fs.StringVar(&o.Label, "label", "", "`name` of the run in tables (default: the format)")
	fs.Var((*cli.Decimal)(&o.Rate), "rate", "`requests` per second that were asked for, if the file lacks that")
	which := fs.String("run", "", "of several runs write this one, `LABEL` or LABEL#REPEAT")
	names, err := a.Operands(fs, args)
	if err != nil {
		return err
	}
	if len(names) != 1 {
		return a.Wrong(fs, "%d files; it reads one", len(names))
	}
	if !(o.Rate >= 0 && o.Rate <= 1e9) {
		return a.Wrong(fs, "-rate %v; write requests a second, such as 2000", o.Rate)
	}
	if err := cli.CanSave(names, *output); err != nil {
		return err
	}
	o.Format = exchange.Format(*from)
	f, _, err := readRunFile(names[0], func(in io.Reader) (*runfile.File, error) { return exchange.Read(in, o) })
	if err != nil {
		return err
	}
	format := exchange.Format(*to)
	if format == "" {
		format = exchange.FormatRun
		if f.Runs[0].Import == "" {
			return a.Wrong(fs, "%s is a run.json already; say with -to what to write", names[0])
		}
	}
	run := &f.Runs[0]
	if format != exchange.FormatRun {
		if run, err = chooseRun(f, *which); err != nil {
			return err
		}
	}
	write := func(w io.Writer) error { return exchange.Write(w, f, run, format) }
	if *output == "" || *output == cli.ToStdout {
		err = write(a.Stdout)
	} else {
		err = runfile.Save(*output, write)
	}
	if err != nil {
		return err
	}
	sayNotes(a, f, format)
	return nil
}

func chooseRun(f *runfile.File, which string) (*runfile.Run, error) {
	var found []*runfile.Run
	var all []string
	for i := range f.Runs {
		r := &f.Runs[i]
		name := fmt.Sprintf("%s#%d", r.Label, r.Repeat)
		if which == "" || which == r.Label || which == name {
			found = append(found, r)
		}
		all = append(all, name)
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d of its runs are meant, and this format has one: say which with -run; there are %s",
			len(found), strings.Join(all[:min(len(all), 20)], ", "))
	}
	return found[0], nil
}

func sayNotes(a *cli.App, f *runfile.File, format exchange.Format) {
	if format != exchange.FormatRun {
		a.Say("convert", exchange.LeftOut)
		return
	}
	said := map[string]bool{}
	for _, r := range f.Runs {
		for _, n := range r.Notes {
			if !said[n] {
				said[n] = true
				a.Say("convert", n)
			}
		}
	}
}
