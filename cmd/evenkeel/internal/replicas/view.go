package replicas

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
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
