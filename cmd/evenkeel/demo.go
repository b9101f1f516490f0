package main

import (
	"context"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/demo"
)

const demoHelp = `
evenkeel demo [flags]

Shows in two minutes what evenkeel is for, with two programs of the repository's examples: search
and hello. make demo builds them and runs this.

  1. why the requests of a recorded service were slow
  2. whether a fix of that service helps, live, in rounds of random order
  3. what collections under live traffic cost two replicas, and what gates change
`

func runDemo(ctx context.Context, a *cli.App, args []string) error {
	d := &demo.Demo{App: a, Explain: runExplain}
	fs := a.NewFlags("demo", demoHelp)
	fs.StringVar(&d.Bin, "bin", "bin", "`folder` of the programs search and hello")
	fs.StringVar(&d.Out, "out", "demo", "`folder` for the pages")
	fs.BoolVar(&d.Quick, "quick", false, "load each part for a moment: does everything run?")
	fs.StringVar(&d.Record, "record", "",
		"measure part 2 alone, in 12 long rounds, and write the runs to this `file`; "+
			"evenkeel must be of a clean commit")
	operands, err := a.Operands(fs, args)
	if err != nil {
		return err
	}
	if len(operands) > 0 {
		return a.Wrong(fs, "it reads nothing; leave out %q", operands[0])
	}
	return d.Run(ctx)
}
