package replicas

import (
	"fmt"
	"strings"
	"time"

	"evenkeel.dev/internal/history"
	"evenkeel.dev/internal/textfmt"
)

const worstShown = 5

// writeTop writes the causes of the last time, at most rows. 0 means all that is kept.
func writeTop(b *strings.Builder, m *merged, last time.Duration, now time.Time, rows int, style textfmt.Style) {
	h, since, of := m.history, time.Time{}, "all that is kept"
	if last > 0 {
		since, of = now.Add(-last), "in the last "+lastText(last)
	}
	list := h.Summaries(since)
	fmt.Fprintln(b, style.Bold(textfmt.Printable(h.Sentence(since))))
	fmt.Fprintln(b, style.Dim(textfmt.Printable(fmt.Sprintf("%s, %s: %s", replicasText(m), of, h.Coverage(since)))))
	for _, line := range m.missing {
		fmt.Fprintf(b, "! %s\n", textfmt.Printable(line))
	}
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
	if m.answered == m.all {
		return textfmt.Plural(m.all, "replica")
	}
	return fmt.Sprintf("%d of %s", m.answered, textfmt.Plural(m.all, "replica"))
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
