package main

import (
	"context"
	"fmt"
	"io"

	"evenkeel.dev/internal/report"
)

const compareHelp = `
evenkeel compare [flags] run.json...

Puts the runs of one or more files side by side, a column a variant, with ratios to the first.
Runs of one label in a file are repeats: the table has their median.

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
	for _, n := range names {
		f, err := report.ReadFile(n)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	c := report.Compare(files, names)
	if *html == "-" {
		return c.HTML(a.stdout)
	}
	if err := c.Text(a.stdout, a.style); err != nil {
		return err
	}
	return a.page(c, *html)
}

// page writes the comparison's page where asked to.
func (a *app) page(c *report.Comparison, name string) error {
	if name == "" {
		return nil
	}
	if err := report.SaveTo(name, func(w io.Writer) error { return c.HTML(w) }); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "wrote %s (open it in a browser)\n", name)
	return nil
}
