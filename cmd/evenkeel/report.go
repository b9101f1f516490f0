package main

import (
	"context"
	"os"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/replicas"
	"evenkeel.dev/cmd/evenkeel/internal/traces"
	"evenkeel.dev/internal/history"
)

const reportHelp = `
evenkeel report [flags] URL|FILE...

Says what made requests slow, when and why, for all replicas together. An operand is the URL of a
recorder, its folder, its history.log, or JSON of evenkeel top -json.

  evenkeel report -html slow.html http://10.0.0.1:6060 http://10.0.0.2:6060
  evenkeel report -since 12h -html night.html http://10.0.0.1:6060
  evenkeel report -html slow.html /var/lib/orders/evenkeel      of a service that has ended

A recorder's Options.Analyze runs evenkeel report -snapshot.
`

func runReport(ctx context.Context, a *cli.App, args []string) error {
	fs := a.NewFlags("report", reportHelp)
	html := fs.String("html", "", "write a page to this `file`, - for standard output")
	asJSON := fs.Bool("json", false, "print JSON (docs/reference/history-json.md)")
	snapshot := fs.Bool("snapshot", false, "explain the snapshot on standard input, for a recorder")
	title := fs.String("title", "Slow requests", "`name` of the page")
	var since cli.Period
	fs.Var(&since, "since", "report the last `time`, such as 12h (default: all)")
	names, err := a.Operands(fs, args)
	if err != nil {
		return err
	}
	switch {
	case *snapshot && len(names) > 0:
		return a.Wrong(fs, "-snapshot reads standard input; leave the operands out")
	case *snapshot:
		return history.Answer(ctx, os.Stdin, a.Stdout)
	case len(names) == 0:
		return a.Wrong(fs, "no replica; write the URLs of all replicas' recorders, as http://HOST:PORT%s, or files",
			traces.RecorderPath)
	case *asJSON && *html == cli.ToStdout:
		return a.Wrong(fs, "-json and -html - both go to standard output; give the page a file")
	}
	v, err := replicas.New(a, names, true)
	if err != nil {
		return a.Wrong(fs, "%v", err)
	}
	defer v.Close()
	if err := cli.CanSave(names, *html); err != nil {
		return err
	}
	v.Since, v.Rows = time.Duration(since), 40
	ctx, release := a.Catch(ctx)
	defer release()
	return v.Report(ctx, *html, *title, *asJSON)
}
