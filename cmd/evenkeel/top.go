package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/traces"
	"evenkeel.dev/internal/textfmt"
)

const topHelp = `
evenkeel top [flags] URL...

Shows what makes a service's requests slow, of all its replicas together, and on a terminal again
every two seconds. Each URL is that of a recorder (package evenkeel.dev/reqtrace/recorder) in a replica;
without a path it is /debug/evenkeel/ there. This command fetches the snapshots that a recorder
keeps, the newest first, and analyses each of them once.

  evenkeel top http://10.0.0.1:6060 http://10.0.0.2:6060   the last hour, live; Ctrl-C ends
  evenkeel top -since 10m http://127.0.0.1:6060            the last ten minutes
  evenkeel top http://127.0.0.1:6060 > now.txt             once, because a file is not a terminal; or use -once
  evenkeel top -every 1m http://127.0.0.1:6060 >> log      a line each minute
  evenkeel top -json http://127.0.0.1:6060 > now.json      what they say, added up, as JSON

Each slow request counts for the one cause that took most of it beyond the usual request of its
class. What replicas counted is added, nothing is averaged. A replica that does not answer is
named, and the others are shown; exit code 1 where none does. NEW are causes that were first seen
within the last hour, or that no build before the last had, if that was watched for an hour. They
need a recorder with Options.InProcess or Analyze.
`

func runTop(ctx context.Context, a *cli.App, args []string) error {
	v := topView{app: a, rows: 12}
	fs := a.NewFlags("top", topHelp)
	since, every := cli.Period(time.Hour), cli.Period(2*time.Second)
	fs.Var(&since, "since", "show the last `time`, such as 10m; 0 for all that is kept")
	fs.Var(&every, "every", "refresh after this `time`; into a file or a pipe, refresh only with this flag")
	fs.Var((*cli.Whole)(&v.rows), "n", "show so many `causes`")
	once := fs.Bool("once", false, "look once")
	asJSON := fs.Bool("json", false, "look once, and print the sum as JSON (docs/reference/history-json.md)")
	names, rest, err := a.Parse(fs, args)
	if err != nil {
		return err
	}
	names = append(names, rest...)
	switch {
	case len(names) == 0:
		return a.Wrong(fs, "no URL; write those of all replicas' recorders, as http://HOST:PORT%s", traces.RecorderPath)
	case v.rows < 1:
		return a.Wrong(fs, "-n %d; it must be at least 1", v.rows)
	case every < cli.Period(100*time.Millisecond):
		return a.Wrong(fs, "-every %v; it must be at least 100ms", time.Duration(every))
	}
	if v.replicas, err = newReplicas(names, false); err != nil {
		return a.Wrong(fs, "%v", err)
	}
	v.since, v.client = time.Duration(since), newReplicaClient()
	defer v.client.CloseIdleConnections()
	ctx, release := a.Catch(ctx)
	defer release()
	if *once || *asJSON || !a.View && !cli.Given(fs, "every") {
		return v.once(ctx, *asJSON)
	}
	return v.follow(ctx, time.Duration(every))
}

// topView shows what replicas say.
type topView struct {
	app      *cli.App
	client   *http.Client
	replicas []replica
	since    time.Duration // 0: all
	rows     int
}

// once shows it once.
func (v *topView) once(ctx context.Context, asJSON bool) error {
	m, err := merge(v.ask(ctx))
	if ctx.Err() != nil {
		return cli.ErrInterrupted
	}
	if err != nil {
		return err
	}
	if !asJSON {
		_, err = fmt.Fprint(v.app.Stdout, v.text(m, time.Now()))
		return err
	}
	return historyJSON(v.app, m)
}

// historyJSON prints what replicas say together, and says on standard error who is not in it.
func historyJSON(a *cli.App, m *merged) error {
	for _, line := range m.missing {
		fmt.Fprintf(a.Stderr, "! %s\n", textfmt.Printable(line))
	}
	e := json.NewEncoder(a.Stdout)
	e.SetIndent("", " ")
	return e.Encode(m.history)
}

func (v *topView) text(m *merged, now time.Time) string {
	var b strings.Builder
	writeTop(&b, m, v.since, now, v.rows, v.app.Style)
	return b.String()
}

// follow shows it until ctx ends.
func (v *topView) follow(ctx context.Context, every time.Duration) error {
	t := time.NewTicker(every)
	defer t.Stop()
	screen := cli.Screen{App: v.app}
	for {
		m, err := merge(v.ask(ctx))
		if ctx.Err() != nil {
			return nil
		}
		now := time.Now()
		text := ""
		switch {
		case err != nil:
			text = fmt.Sprintf("no replica answers, at %s:\n  %s\n", now.Format(time.TimeOnly), printableLines(err.Error()))
		case v.app.View:
			text = v.text(m, now)
		default:
			line, _, _ := strings.Cut(v.text(m, now), "\n")
			text = now.Format(time.TimeOnly) + "  " + line + "\n"
		}
		if err := screen.Draw(text); err != nil {
			return err
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// printableLines is textfmt.Printable line by line.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = textfmt.Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}
