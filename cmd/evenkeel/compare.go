package main

import (
	"context"
	"fmt"
	"os"

	"evenkeel.dev/internal/report"
)

const compareHelp = `
evenkeel compare [flags] run.json...

Puts the runs of one or more files side by side, a column a variant, with ratios to the first.
Runs of one label in a file are repeats: the table has their median. - is standard input.

  evenkeel compare before.json after.json
  evenkeel compare -html page.html run.json     one page that needs nothing else: latency
                                                histogram and CCDF, latency and heap over time
`

func runCompare(_ context.Context, a *app, args []string) error {
	fs := a.newFlags("compare", compareHelp)
	html := fs.String("html", "", "write a self-contained page to this `file` (- for standard output)")
	names, rest, err := a.parse(fs, args)
	if err != nil {
		return err
	}
	names = append(names, rest...)
	if len(names) == 0 {
		return a.wrong(fs, "no file; evenkeel run -o run.json and evenkeel load -o run.json write them")
	}
	var files []*report.File
	for i, n := range names {
		var f *report.File
		var err error
		if n == "-" {
			names[i] = "standard input"
			f, err = report.Read(os.Stdin)
			if err != nil {
				err = fmt.Errorf("standard input: %w", err)
			}
		} else {
			f, err = report.ReadFile(n)
		}
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	c := report.Compare(files, names)
	if *html == toStdout {
		return c.HTML(a.stdout)
	}
	if err := a.page(c, *html); err != nil {
		return err
	}
	return c.Text(a.stdout, a.style)
}
