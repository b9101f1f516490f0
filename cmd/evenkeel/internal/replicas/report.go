package replicas

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace/history"
)

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
