package replicas

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/internal/history"
	"evenkeel.dev/internal/textfmt"
)

// View shows what replicas say.
type View struct {
	app      *cli.App
	client   *http.Client
	replicas []replica
	Since    time.Duration
	Rows     int
}

// New returns a view. It refuses files unless files is set.
func New(a *cli.App, names []string, files bool) (*View, error) {
	list, err := parseAll(names, files)
	if err != nil {
		return nil, err
	}
	return &View{app: a, client: newClient(), replicas: list}, nil
}

// Close closes connections.
func (v *View) Close() { v.client.CloseIdleConnections() }

func historyJSON(a *cli.App, m *merged) error {
	for _, line := range m.missing {
		fmt.Fprintf(a.Stderr, "! %s\n", textfmt.Printable(line))
	}
	return cli.WriteJSON(a.Stdout, m.history)
}

func (v *View) text(m *merged, now time.Time) string {
	var b strings.Builder
	writeTop(&b, m, v.Since, now, v.Rows, v.app.Style)
	return b.String()
}

// Follow shows it until ctx ends.
func (v *View) Follow(ctx context.Context, every time.Duration) error {
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
			text = fmt.Sprintf("no replica answers, at %s:\n  %s\n", now.Format(time.TimeOnly),
				printableLines(err.Error()))
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

func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = textfmt.Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// Report writes a page and JSON if asked, else text.
func (v *View) Report(ctx context.Context, html, title string, asJSON bool) error {
	m, err := merge(v.ask(ctx))
	if ctx.Err() != nil {
		return cli.ErrInterrupted
	}
	if err != nil {
		return err
	}
	now := time.Now()
	if err := v.page(m, html, title, now); err != nil {
		return err
	}
	switch {
	case asJSON:
		return historyJSON(v.app, m)
	case html == "":
		_, err = fmt.Fprint(v.app.Stdout, v.text(m, now))
		return err
	}
	for _, line := range m.missing {
		fmt.Fprintf(v.app.Stderr, "! %s\n", textfmt.Printable(line))
	}
	return nil
}

func (v *View) page(m *merged, name, title string, now time.Time) error {
	o := history.PageOptions{Title: title, Now: now, Status: []string{replicasText(m)}}
	live := slices.ContainsFunc(v.replicas, func(r replica) bool { return r.url != "" })
	switch {
	case v.Since > 0:
		o.Since = now.Add(-v.Since)
	case !live: // a file shows no later days
		o.Now = time.Time{}
	}
	for _, line := range m.missing {
		o.Sources = append(o.Sources, "Not in it: "+textfmt.Printable(line))
	}
	return v.app.SavePage(name, func(w io.Writer) error { return history.WritePage(w, m.history, o) })
}
