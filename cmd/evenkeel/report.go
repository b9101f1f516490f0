package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/traces"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace/history"
)

const reportHelp = `
evenkeel report [flags] URL|FILE...

Says what made a service's requests slow, of all its replicas together: when, why, since when, and
what the worst request of each cause met. Each operand is the URL of a recorder in a replica, as for
evenkeel top, or a file: JSON that a recorder or evenkeel top -json has written, or the folder of a
recorder, also of a process that was killed. This command analyses the snapshots that a recorder
serves or that are in its folder. The file history.log of the folder has no snapshots.

  evenkeel report -html slow.html http://10.0.0.1:6060 http://10.0.0.2:6060
  evenkeel report -since 12h -html night.html http://10.0.0.1:6060
  evenkeel report -html slow.html /var/lib/orders/evenkeel   of a service that is gone
  evenkeel report -json a.json b.json > both.json            added up
  evenkeel report -snapshot                                  for a recorder's Options.Analyze

Without -html or -json it prints what evenkeel top -once prints. A replica that does not answer is
named, in the page too, and the others are shown; exit code 1 where none does.
`

func runReport(ctx context.Context, a *cli.App, args []string) error {
	v := topView{app: a, rows: 40}
	fs := a.NewFlags("report", reportHelp)
	html := fs.String("html", "", "write a self-contained page to this `file` (- for standard output)")
	asJSON := fs.Bool("json", false, "print the sum as JSON (docs/reference/history-json.md)")
	snapshot := fs.Bool("snapshot", false, "explain the snapshot on standard input, for a recorder whose Options.Analyze names this command")
	title := fs.String("title", "Slow requests", "`name` of the page, such as the service's")
	var since cli.Period
	fs.Var(&since, "since", "report the last `time`, such as 12h (default: all that is kept)")
	names, rest, err := a.Parse(fs, args)
	if err != nil {
		return err
	}
	names = append(names, rest...)
	switch {
	case *snapshot && len(names) > 0:
		return a.Wrong(fs, "-snapshot reads standard input; leave the operands out")
	case *snapshot:
		return history.Answer(ctx, os.Stdin, a.Stdout)
	case len(names) == 0:
		return a.Wrong(fs, "no replica; write the URLs of all replicas' recorders, as http://HOST:PORT%s, or files", traces.RecorderPath)
	case *asJSON && *html == cli.ToStdout:
		return a.Wrong(fs, "-json and -html - both go to standard output; give the page a file")
	}
	if v.replicas, err = newReplicas(names, true); err != nil {
		return a.Wrong(fs, "%v", err)
	}
	if err := cli.CanSave(names, *html); err != nil {
		return err
	}
	v.since, v.client = time.Duration(since), newReplicaClient()
	defer v.client.CloseIdleConnections()
	ctx, release := a.Catch(ctx)
	defer release()
	m, err := merge(v.ask(ctx))
	if ctx.Err() != nil {
		return cli.ErrInterrupted
	}
	if err != nil {
		return err
	}
	now := time.Now()
	if err := v.page(m, *html, *title, now); err != nil {
		return err
	}
	switch {
	case *asJSON:
		return historyJSON(a, m)
	case *html == "":
		_, err = fmt.Fprint(a.Stdout, v.text(m, now))
		return err
	}
	for _, line := range m.missing {
		fmt.Fprintf(a.Stderr, "! %s\n", textfmt.Printable(line))
	}
	return nil
}

// page writes the page where asked to.
func (v *topView) page(m *merged, name, title string, now time.Time) error {
	o := history.PageOptions{Title: title, Now: now, Status: []string{replicasText(m)}}
	live := slices.ContainsFunc(v.replicas, func(r replica) bool { return r.url != "" })
	switch {
	case v.since > 0:
		o.Since = now.Add(-v.since)
	case !live: // a file shows nothing of the days since it was written
		o.Now = time.Time{}
	}
	for _, line := range m.missing {
		o.Sources = append(o.Sources, "Not in it: "+textfmt.Printable(line))
	}
	write := func(w io.Writer) error { return history.WritePage(w, m.history, o) }
	switch name {
	case "":
		return nil
	case cli.ToStdout:
		return write(v.app.Stdout)
	}
	return v.app.SavePage(name, write)
}
