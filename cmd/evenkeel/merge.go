package main

import (
	"context"
	"slices"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
)

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
