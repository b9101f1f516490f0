package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/replicas"
	"evenkeel.dev/cmd/evenkeel/internal/traces"
)

const topHelp = `
evenkeel top [flags] URL...

Shows live what makes requests slow, for all replicas together. Each URL is a recorder's, without a
path /debug/evenkeel/ there. Exit code 1 means that no replica answered.

  evenkeel top http://10.0.0.1:6060 http://10.0.0.2:6060    the last hour; Ctrl-C ends
  evenkeel top -since 10m -once http://127.0.0.1:6060       the last ten minutes, once
  evenkeel top -every 1m http://127.0.0.1:6060 >> log       a line per minute
`

func runTop(ctx context.Context, a *cli.App, args []string) error {
	fs := a.NewFlags("top", topHelp)
	since, every := cli.Period(time.Hour), cli.Period(2*time.Second)
	fs.Var(&since, "since", "show the last `time`, such as 10m; 0 for all")
	fs.Var(&every, "every", "refresh after this `time`; into a file or a pipe only if given")
	rows := cli.Whole(12)
	fs.Var(&rows, "n", "show so many `causes`")
	once := fs.Bool("once", false, "look once")
	asJSON := fs.Bool("json", false, "look once, and print JSON (docs/reference/history-json.md)")
	names, err := a.Operands(fs, args)
	if err != nil {
		return err
	}
	switch {
	case len(names) == 0:
		return a.Wrong(fs, "no URL; write those of all replicas' recorders, as http://HOST:PORT%s", traces.RecorderPath)
	case every < cli.Period(100*time.Millisecond):
		return a.Wrong(fs, "-every %v; it must be at least 100ms", time.Duration(every))
	}
	v, err := replicas.New(a, names, false)
	if err != nil {
		return a.Wrong(fs, "%v", err)
	}
	defer v.Close()
	v.Since, v.Rows = time.Duration(since), int(rows)
	ctx, release := a.Catch(ctx)
	defer release()
	if *once || *asJSON || !a.View && !cli.Given(fs, "every") {
		return v.Report(ctx, "", "", *asJSON)
	}
	return v.Follow(ctx, time.Duration(every))
}

const reportHelp = `
evenkeel report [flags] [SERVICE=]URL|FILE...

Says what made requests slow, when and why, for all replicas together. An operand is the URL of a
recorder, its folder, its history.log, or JSON of evenkeel top -json.

Give each operand the name of its service, and the report says which of the other services the
first one's slow requests waited for, and why that service was slow.

  evenkeel report -html slow.html http://10.0.0.1:6060 http://10.0.0.2:6060
  evenkeel report -since 12h -html night.html http://10.0.0.1:6060
  evenkeel report -html slow.html /var/lib/orders/evenkeel      of a service that has ended
  evenkeel report shop=http://10.0.0.1:6060 shop=http://10.0.0.2:6060 prices=http://10.0.0.3:6060
`

func runReport(ctx context.Context, a *cli.App, args []string) error {
	fs := a.NewFlags("report", reportHelp)
	html := fs.String("html", "", "write a page to this `file`, - for standard output")
	asJSON := fs.Bool("json", false, "print JSON (docs/reference/history-json.md)")
	title := fs.String("title", "Slow requests", "`name` of the page")
	var since cli.Period
	fs.Var(&since, "since", "report the last `time`, such as 12h (default: all)")
	names, err := a.Operands(fs, args)
	if err != nil {
		return err
	}
	switch {
	case len(names) == 0:
		return a.Wrong(fs, "no replica; write the URLs of all replicas' recorders, as http://HOST:PORT%s, or files",
			traces.RecorderPath)
	case *asJSON && *html == cli.ToStdout:
		return a.Wrong(fs, "-json and -html - both go to standard output; give the page a file")
	}
	v, names, err := reported(a, names)
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

// reported returns what is reported, and its URLs and files.
func reported(a *cli.App, operands []string) (v *replicas.View, targets []string, err error) {
	services := make([]string, len(operands))
	targets = make([]string, len(operands))
	for i, x := range operands {
		services[i], targets[i] = splitName(x)
	}
	at, name := slices.Index(services, ""), cmp.Or(services...)
	switch {
	case name == "":
		v, err = replicas.New(a, targets, true)
	case at >= 0:
		err = fmt.Errorf("%s has no service name; write SERVICE=%s, as for %s", targets[at], targets[at], name)
	default:
		v, err = replicas.NewServices(a, services, targets)
	}
	return v, targets, err
}
