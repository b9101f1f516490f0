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

type View struct {
	app      *cli.App
	client   *http.Client
	replicas []replica
	services []string // nil: all are replicas of one
	Since    time.Duration
	Rows     int
}

// New returns a view. Names may be files if files is set.
func New(a *cli.App, names []string, files bool) (*View, error) {
	list, err := parseAll(names, files)
	if err != nil {
		return nil, err
	}
	return &View{app: a, client: newClient(), replicas: list}, nil
}

func (v *View) Close() { v.client.CloseIdleConnections() }

func (v *View) text(m *merged, now time.Time) string {
	var b strings.Builder
	writeTop(&b, m, v.Since, now, v.Rows, v.app.Style)
	for _, other := range m.others {
		fmt.Fprintln(&b)
		writeHead(&b, other, v.Since, now, v.app.Style)
	}
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
			text = fmt.Sprintf("no replica answers, at %s:\n  %v\n", now.Format(time.TimeOnly), err)
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

// Report writes a page and JSON if asked, else text.
func (v *View) Report(ctx context.Context, html, title string, asJSON bool) error {
	m, err := v.merge(v.ask(ctx))
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
	if html == "" && !asJSON {
		_, err = fmt.Fprint(v.app.Stdout, v.text(m, now))
		return err
	}
	for _, line := range m.missing {
		fmt.Fprintf(v.app.Stderr, "! %s\n", line)
	}
	if asJSON {
		return cli.WriteJSON(v.app.Stdout, m.json())
	}
	return nil
}

func (v *View) page(m *merged, name, title string, now time.Time) error {
	o := history.PageOptions{
		Title: title, Now: now, Since: begin(v.Since, now), Status: []string{replicasText(m)},
	}
	o.Sentence = m.sentence(o.Since)
	live := slices.ContainsFunc(v.replicas, func(r replica) bool { return r.url != "" })
	if v.Since == 0 && !live { // a file shows no later days
		o.Now = time.Time{}
	}
	if text := m.joined(o.Since); text != "" {
		o.Status = append(o.Status, text)
	}
	for _, other := range m.others {
		o.Status = append(o.Status, other.sentence(o.Since))
	}
	for _, line := range m.missing {
		o.Sources = append(o.Sources, "Not in it: "+line)
	}
	return v.app.SavePage(name, func(w io.Writer) error { return history.WritePage(w, m.history, o) })
}

const worstShown = 5

// writeTop writes at most rows causes. If last is 0, it uses all of the history.
func writeTop(b *strings.Builder, m *merged, last time.Duration, now time.Time, rows int, style textfmt.Style) {
	writeHead(b, m, last, now, style)
	list := m.history.Summaries(begin(last, now))
	if len(list) == 0 {
		return
	}
	shown := list[:min(len(list), rows)]
	fmt.Fprintln(b)
	// The cause may be long, so it is last.
	t := textfmt.NewTable(6)
	t.Add(style.Bold, []string{"share", "requests", "lost", "since", "last", "worst"})
	for _, s := range shown {
		t.Add(nil, []string{
			fmt.Sprintf("%5s", textfmt.Share(s.Share)), textfmt.Count(float64(s.Requests)), textfmt.Duration(s.Lost),
			clockText(s.First, now), clockText(s.Last, now),
			textfmt.Duration(s.Worst.Duration),
		})
	}
	var figures strings.Builder
	t.Render(&figures)
	i := -1
	for line := range strings.Lines(figures.String()) {
		cause := style.Bold("what made them slow")
		if i >= 0 {
			cause = textfmt.Printable(shown[i].String())
			if shown[i].New {
				cause = style.Attr("1;33", "NEW") + " " + cause
			}
		}
		fmt.Fprintf(b, "%s  %s\n", strings.TrimRight(line, "\n"), cause)
		i++
	}
	if n := len(list) - len(shown); n > 0 {
		fmt.Fprintf(b, "and %s (-n)\n", textfmt.Plural(n, "more cause"))
	}
	writeWorst(b, shown, now, style)
}

// begin returns when the last time began, or zero for all.
func begin(last time.Duration, now time.Time) time.Time {
	if last > 0 {
		return now.Add(-last)
	}
	return time.Time{}
}

func writeHead(b *strings.Builder, m *merged, last time.Duration, now time.Time, style textfmt.Style) {
	since, of := begin(last, now), "all that is kept"
	if last > 0 {
		of = "in the last " + lastText(last)
	}
	fmt.Fprintln(b, style.Bold(textfmt.Printable(m.sentence(since))))
	if m.answered == 0 { // the first service's head says why
		return
	}
	lines := []string{fmt.Sprintf("%s, %s: %s", replicasText(m), of, m.history.Coverage(since))}
	if text := m.joined(since); text != "" {
		lines = append(lines, text)
	}
	for _, line := range lines {
		fmt.Fprintln(b, style.Dim(textfmt.Printable(line)))
	}
	for _, line := range m.missing {
		fmt.Fprintf(b, "! %s\n", line)
	}
}

func writeWorst(b *strings.Builder, list []history.Summary, now time.Time, style textfmt.Style) {
	fmt.Fprintf(b, "\n%s\n", style.Bold("the worst of each"))
	for _, s := range list[:min(len(list), worstShown)] {
		w := &s.Worst
		line := fmt.Sprintf("%9s at %s  %s", textfmt.Duration(w.Duration),
			clockText(w.Start, now)+w.Start.In(now.Location()).Format(":05"), w.Words)
		if w.Snapshot != "" {
			line += " [" + w.Snapshot + "]"
		}
		fmt.Fprintln(b, textfmt.Printable(line))
	}
}

func replicasText(m *merged) string {
	text := textfmt.Plural(m.all, "replica")
	if m.answered < m.all {
		text = fmt.Sprintf("%d of %s", m.answered, text)
	}
	if m.service != "" {
		text += " of " + m.service
	}
	return text
}

func lastText(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		switch {
		case d == u.unit:
			return u.name
		case d%u.unit == 0:
			return textfmt.Plural(int(d/u.unit), u.name)
		}
	}
	return d.String()
}

func clockText(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format("Jan 2 15:04")
}
