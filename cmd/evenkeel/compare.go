package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/page"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
)

const compareHelp = `
evenkeel compare [flags] run.json...

Puts the runs of files side by side, a column for each variant. Runs of one label are repeats: the
table has their median, its ratio to the base, and the interval of that ratio. ~ is inconclusive.

  evenkeel compare before.json after.json
  evenkeel compare -html page.html run.json
  evenkeel compare -fail-if 'p99.9 > +20%' -fail-if 'requests/s < -10%' base.json head.json

docs/compare.md explains the table.
`

type compareFlags struct {
	html           string
	events         cli.List
	json, markdown bool
	judging        compare.Flags
}

func (f *compareFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&f.html, "html", "", "write a page to this `file`, - for standard output")
	fs.Var(&f.events, "events", "show the events of this `file` on the time line, - for standard input; repeatable")
	f.judging.Register(fs)
	fs.BoolVar(&f.json, "json", false, "print JSON (docs/reference/compare-json.md)")
	fs.BoolVar(&f.markdown, "markdown", false, "print Markdown")
}

func (f *compareFlags) check(names []string) error {
	switch i := slices.Index(f.events, "-"); {
	case len(names) == 0:
		return errors.New("no file; evenkeel run -o run.json and evenkeel load -o run.json write them")
	case i >= 0 && (slices.Contains(names, "-") || slices.Contains(f.events[i+1:], "-")):
		return errors.New("-events - and another - both read standard input; give one of them as a file")
	case f.json && f.markdown || f.html == cli.ToStdout && (f.json || f.markdown):
		return errors.New("-json, -markdown and -html - each write to standard output; choose one")
	}
	return f.judging.Check()
}

func runCompare(_ context.Context, a *cli.App, args []string) error {
	fs := a.NewFlags("compare", compareHelp)
	var f compareFlags
	f.register(fs)
	names, err := a.Operands(fs, args)
	if err != nil {
		return err
	}
	if err := f.check(names); err != nil {
		return a.Wrong(fs, "%v", err)
	}
	if err := cli.CanSave(append(slices.Clip(f.events), names...), f.html); err != nil {
		return err
	}
	c, err := f.read(names)
	if err != nil {
		return err
	}
	lines, outcome := f.judging.FailIf.Check(c)
	a.Say("compare", lines...)
	return cmp.Or(f.write(a, c, lines), outcome)
}

func (f *compareFlags) read(names []string) (*compare.Comparison, error) {
	files, names, err := readRunFiles(names)
	if err != nil {
		return nil, err
	}
	var events []*runfile.Events
	for _, n := range f.events {
		in, name, err := cli.Open(n)
		if err != nil {
			return nil, err
		}
		e, err := runfile.ReadEvents(in, name)
		in.Close()
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	c := compare.Files(files, names)
	if err := f.judging.Apply(c); err != nil {
		return nil, err
	}
	if len(f.judging.FailIf) > 0 && len(c.Columns) < 2 {
		return nil, fmt.Errorf("-fail-if compares variants, and there is only %q; name another file",
			c.Columns[0].Label)
	}
	c.SetEvents(events)
	return c, nil
}

func (f *compareFlags) write(a *cli.App, c *compare.Comparison, lines []string) error {
	err := a.SavePage(f.html, func(w io.Writer) error { return page.Compare(w, c) })
	if err != nil || f.html == cli.ToStdout {
		return err
	}
	switch {
	case f.json:
		return cli.WriteJSON(a.Stdout, c.Data())
	case f.markdown:
		return c.Markdown(a.Stdout, lines)
	}
	return c.Text(a.Stdout, a.Style)
}

// readRunFiles also returns how messages name the files. Its error names each bad file.
func readRunFiles(names []string) (files []*runfile.File, shown []string, err error) {
	for _, n := range names {
		f, name, readErr := readRunFile(n, runfile.Read)
		files, shown, err = append(files, f), append(shown, name), errors.Join(err, readErr)
	}
	return files, shown, err
}

func readRunFile(
	name string, read func(io.Reader) (*runfile.File, error),
) (f *runfile.File, shown string, err error) {
	in, shown, err := cli.Open(name)
	if err != nil {
		return nil, shown, err
	}
	defer in.Close()
	if f, err = read(in); err != nil {
		err = fmt.Errorf("%s: %w", shown, err)
	}
	return f, shown, err
}

const mergeHelp = `
evenkeel merge [flags] run.json run.json...

Adds what several machines measured of one service at the same time, count by count.
Percentiles are of the sum, never averages. It refuses files that have no sum, and says why.

  evenkeel load -share 0/2 -start $T -rate 20000 -z 30s -o 0.json http://HOST/   on one machine
  evenkeel load -share 1/2 -start $T -rate 20000 -z 30s -o 1.json http://HOST/   on another
  evenkeel merge -o all.json 0.json 1.json
`

func runMerge(_ context.Context, a *cli.App, args []string) error {
	fs := a.NewFlags("merge", mergeHelp)
	output := fs.String("o", "", "write the sum to this JSON `file`; - writes it in place of the table")
	skew := cli.Period(time.Second)
	fs.Var(&skew, "skew", "accept windows that start and last up to this `duration` apart")
	allowLate := fs.Bool("allow-late", false, "accept load generators that did not keep their rate")
	names, err := a.Operands(fs, args)
	if err != nil {
		return err
	}
	if len(names) < 2 {
		return a.Wrong(fs, "%d files; name one of each machine, from evenkeel load -share I/N -o I.json",
			len(names))
	}
	if i := slices.Index(names, "-"); i >= 0 && slices.Contains(names[i+1:], "-") {
		return a.Wrong(fs, "- twice: there is one standard input; give the others as files")
	}
	if err := cli.CanSave(names, *output); err != nil {
		return err
	}
	files, names, err := readRunFiles(names)
	if err != nil {
		return err
	}
	f, err := runfile.Merge(files, names, runfile.MergeOptions{Skew: time.Duration(skew), AllowLate: *allowLate})
	if err != nil {
		return err
	}
	if err := a.Save(f, *output); err != nil || *output == cli.ToStdout {
		return err
	}
	if len(f.Runs) == 1 {
		return compare.WriteLoad(a.Stdout, &f.Runs[0], a.Style)
	}
	return compare.Files([]*runfile.File{f}, []string{"merged"}).Text(a.Stdout, a.Style)
}
