package main

import (
	"context"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/demo"
)

const demoHelp = `
evenkeel demo [flags]

Shows in two minutes why a recorded service was slow, whether a fix helps, and what gates change.
It needs the programs search and hello of the examples. make demo builds them and runs this.
`

func runDemo(ctx context.Context, a *cli.App, args []string) error {
	d := &demo.Demo{App: a, Explain: runExplain}
	fs := a.NewFlags("demo", demoHelp)
	fs.StringVar(&d.Bin, "bin", "bin", "`folder` of the programs search and hello")
	fs.StringVar(&d.Out, "out", "demo", "`folder` for the pages")
	fs.BoolVar(&d.Quick, "quick", false, "load each part for a moment only")
	fs.StringVar(&d.Record, "record", "", "measure the fix alone in 12 rounds, and write the runs to this `file`")
	operands, err := a.Operands(fs, args)
	if err != nil {
		return err
	}
	if len(operands) > 0 {
		return a.Wrong(fs, "it reads nothing; leave out %q", operands[0])
	}
	return d.Run(ctx)
}
