package watch

import (
	"fmt"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/gatestats"
	"evenkeel.dev/internal/textfmt"
)

func (w *Watcher) text(st textfmt.Style) string {
	var b strings.Builder
	t := textfmt.NewTable(9)
	t.Add(st.Bold, []string{
		"replica", "state", "turn", "heap", "trigger", "hard", "live", "overlapped a collection",
		"collections",
	})
	for _, r := range w.replicas {
		s := r.Stats
		if s == nil {
			t.Add(st.Dim, []string{r.host, "no answer", "", "", "", "", "", "", ""})
			continue
		}
		overlapped := "-"
		if s.Entered > 0 {
			overlapped = fmt.Sprintf("%s of %s", textfmt.Count(float64(s.Overlapped+s.OverlappedOther)),
				textfmt.Count(float64(s.Entered)))
		}
		size := func(n uint64) string { return textfmt.Bytes(float64(n)) }
		share := ""
		if s.Trigger > 0 {
			share = " " + textfmt.Share(float64(s.Heap)/float64(s.Trigger))
		}
		t.Row(r.host, s.State, r.turn(), size(s.Heap)+share, size(s.Trigger), size(s.Hard), size(s.Live), overlapped,
			textfmt.Count(float64(s.Collected())))
	}
	t.Render(&b)
	if len(w.rounds) > 0 {
		fmt.Fprintf(&b, "\nlast collections\n")
		for _, r := range w.rounds {
			fmt.Fprintf(&b, "  %s\n", r)
		}
	}
	if warnings := w.warnings(); len(warnings) > 0 {
		fmt.Fprintln(&b)
		for _, text := range warnings {
			fmt.Fprintf(&b, "! %s\n", text)
		}
	}
	return b.String()
}

func roundsBetween(host string, before, after *gatestats.Stats) []string {
	if before == nil || after == nil || after.Collected() <= before.Collected() {
		return nil
	}
	var why []string
	for reason, n := range after.Collections {
		if more := n - before.Collections[reason]; n > before.Collections[reason] {
			text := textfmt.Visible(reason, 40)
			if more > 1 {
				text += fmt.Sprintf(" (%d times)", more)
			}
			why = append(why, text)
		}
	}
	phase := func(name string) time.Duration {
		was, is := before.Phases[name], after.Phases[name]
		if is.Count <= was.Count {
			return 0
		}
		return (is.Total - was.Total) / time.Duration(is.Count-was.Count)
	}
	text := fmt.Sprintf("%s  %s: %s", after.At.Format("15:04:05"), host, strings.Join(why, ", "))
	for _, p := range []struct{ name, what string }{
		{"wanting", "waited"},
		{"draining", "drained"},
		{"collecting", "collected"},
	} {
		if d := phase(p.name); d > 0 {
			text += fmt.Sprintf(", %s %s", p.what, textfmt.Duration(d))
		}
	}
	if met := after.Overlapped - min(before.Overlapped, after.Overlapped); met > 0 {
		text += fmt.Sprintf(", %s met it", textfmt.Plural(int(met), "request"))
	}
	return []string{text}
}

func (w *Watcher) warnings() (texts []string) {
	say := func(format string, a ...any) { texts = append(texts, fmt.Sprintf(format, a...)) }
	for _, r := range w.replicas {
		s := r.Stats
		if s == nil {
			say("%s: %s", r.host, r.Error)
			continue
		}
		count := func(n uint64, format string) {
			if n > 0 {
				say("%s: "+format, r.host, textfmt.Count(float64(n)))
			}
		}
		since := r.since(w.Once)
		if s.Turn.HeldUpBy != "" {
			say("%s %s", r.host, r.heldUp())
		}
		if n := since.WithoutTurn; n > 0 {
			say("%s: %s collections went without a turn: %s", r.host, textfmt.Count(float64(n)), w.whyWithoutTurn(r))
		}
		count(since.LostTurns, "%s turns were lost while they were held")
		count(since.Escaped, "%s collections were the runtime's own; the gate's log says which limit was hit")
		count(since.IgnoredDrains, "%s times requests came after a confirmed drain; the gate's log says why")
		switch {
		case s.Turn.Load > 1:
			say("%s: the load of the turns is %.2f, so heaps outgrow them; evenkeel plan says what helps", r.host,
				s.Turn.Load)
		case s.Turn.LongestWait > 0 && s.Turn.Spare < s.Turn.LongestWait:
			say("%s: it may wait %s for the turn, and its heap reaches the hard threshold in %s", r.host,
				textfmt.Duration(s.Turn.LongestWait), textfmt.Duration(s.Turn.Spare))
		}
	}
	if drained, turns := w.drained(); w.crowded >= leftLooks {
		say("%d replicas are drained at once with %s; some collect without a turn, or do not share turns", drained,
			textfmt.Plural(turns, "turn"))
	}
	return texts
}

func (r *replica) heldUp() string {
	s := r.Stats
	if s.Turn.Holding > 0 {
		return fmt.Sprintf("has held the turn for %s, because a peer has not put it back: %s",
			textfmt.Duration(s.Turn.HeldUpFor), s.Turn.HeldUpBy)
	}
	heap := ""
	if s.Trigger > 0 {
		heap = ", with its heap at " + textfmt.Share(float64(s.Heap)/float64(s.Trigger)) + " of the trigger"
	}
	waited := textfmt.Duration(s.Turn.HeldUpFor)
	return fmt.Sprintf("has waited for the turn for %s%s: %s", waited, heap, s.Turn.HeldUpBy)
}

func (w *Watcher) whyWithoutTurn(r *replica) string {
	switch {
	case w.heldUp != "":
		return "the turn was held up at " + w.heldUp
	case r.Stats.Turn.Load > 1:
		return "the turns do not suffice"
	}
	return "its log says why"
}
