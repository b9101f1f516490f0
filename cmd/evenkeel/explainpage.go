package main

import (
	"io"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/page"
	"evenkeel.dev/cmd/evenkeel/internal/perfetto"
	"evenkeel.dev/reqtrace/verdict"
)

// newExplained says what trace a verdict is on: where it is a file, pages lead into it.
func newExplained(name, source string) page.Trace {
	t := page.Trace{Name: source}
	if name == source && name != cli.StdinName && name != demoName { // no URL either
		t.File = name
	}
	return t
}

// explainPage writes the page of a verdict where asked to.
func explainPage(a *cli.App, t page.Trace, v *verdict.Verdict, name string) error {
	return a.SavePage(name, func(w io.Writer) error { return page.Explain(w, t, v) })
}

// explainTracks writes the tracks of the slowest requests where asked to.
func explainTracks(a *cli.App, source string, v *verdict.Verdict, name string) error {
	return a.SaveAs(name, "open it at https://ui.perfetto.dev or in chrome://tracing", func(w io.Writer) error {
		return perfetto.Write(w, source, v.Report())
	})
}
