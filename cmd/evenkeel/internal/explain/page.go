package explain

import (
	"io"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/page"
	"evenkeel.dev/cmd/evenkeel/internal/perfetto"
	"evenkeel.dev/reqtrace/verdict"
)

// Page writes the page of a verdict where asked to.
func Page(a *cli.App, t page.Trace, v *verdict.Verdict, name string) error {
	return a.SavePage(name, func(w io.Writer) error { return page.Explain(w, t, v) })
}

// Tracks writes the tracks of the slowest requests where asked to.
func Tracks(a *cli.App, source string, v *verdict.Verdict, name string) error {
	return a.SaveAs(name, "open it at https://ui.perfetto.dev or in chrome://tracing", func(w io.Writer) error {
		return perfetto.Write(w, source, v.Report())
	})
}

// ChangePage writes the page of a change where asked to.
func ChangePage(a *cli.App, c *verdict.Change, name string) error {
	return a.SavePage(name, func(w io.Writer) error { return page.Change(w, c) })
}

// TextOptions say how a verdict's text is set on standard output.
func TextOptions(a *cli.App) verdict.Options {
	return verdict.Options{Color: a.Style.Color, Width: a.Width}
}
