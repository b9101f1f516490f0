package compare

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/internal/runfile"
	"evenkeel.dev/internal/textfmt"
)

// serving is the state in which nothing is wrong: it is not drawn, and not counted.
const serving = "serving"

const (
	maxNameRunes = 100                // of a source or a state, where it is shown
	maxNoteRunes = 120                // of an event's note
	farAway      = 876000 * time.Hour // from a window's start: no event is placed further off
)

// Lane is what one source did within the window of a run.
type Lane struct {
	Source string
	Known  time.Duration // since when its state is known; not before the window
	Spans  []Span        // other than serving, in order
	Open   bool          // no line ended the last of them
}

// Span is a state of a source, or several that are drawn as one.
type Span struct {
	State, Note string
	From, To    time.Duration // since the window's start; a state can outlast the window
	Count       int           // states in it
}

// Clip returns the part of a span that lies within a window.
func (s Span) Clip(window time.Duration) (from, to time.Duration) {
	return min(max(s.From, 0), window), min(max(s.To, 0), window)
}

// SetEvents places events on the runs during which they happened: on each run whose window
// has them.
func (c *Comparison) SetEvents(files []*runfile.Events) {
	bySource := map[string][]runfile.Event{}
	for _, f := range files {
		c.Notes = append(c.Notes, f.Notes...)
		if n := c.misplaced(f); n != "" {
			c.Notes = append(c.Notes, n)
		}
		for _, e := range f.List {
			bySource[e.Source] = append(bySource[e.Source], e)
		}
	}
	names := make([]string, 0, len(bySource))
	for n, es := range bySource {
		names = append(names, n)
		slices.SortStableFunc(es, func(a, b runfile.Event) int { return a.Time.Compare(b.Time) })
		bySource[n] = slices.CompactFunc(es, func(a, b runfile.Event) bool { return a.Time.Equal(b.Time) && a.State == b.State })
	}
	slices.SortFunc(names, compareNatural)
	c.lanes = map[*runfile.Run][]Lane{}
	for i := range c.Columns {
		for _, r := range c.Columns[i].Runs {
			for _, n := range names {
				if l, ok := newLane(r, bySource[n]); ok {
					c.lanes[r] = append(c.lanes[r], l)
				}
			}
		}
	}
}

// Lanes returns what SetEvents placed on a run, a lane a source.
func (c *Comparison) Lanes(r *runfile.Run) []Lane { return c.lanes[r] }

// newLane returns the lane of one source's events, in order of time. There is one if a line
// lies within the window, or if a state other than serving began before it and ended after it.
func newLane(r *runfile.Run, events []runfile.Event) (Lane, bool) {
	from, to, ok := r.Window()
	if !ok {
		return Lane{}, false
	}
	i, _ := slices.BinarySearchFunc(events, from, func(e runfile.Event, t time.Time) int { return e.Time.Compare(t) })
	within := i < len(events) && !events[i].Time.After(to)
	if i > 0 && i < len(events) {
		i-- // its state lasts into the window
	}
	if i == len(events) || !within && (events[i].Time.After(to) || events[i].State == serving) {
		return Lane{}, false
	}
	l := Lane{Source: textfmt.Visible(events[i].Source, maxNameRunes), Known: max(events[i].Time.Sub(from), 0)}
	for ; i < len(events) && !events[i].Time.After(to); i++ {
		e := events[i]
		l.Open = i == len(events)-1
		if e.State == serving {
			continue
		}
		s := Span{
			State: textfmt.Visible(e.State, maxNameRunes), Note: textfmt.Visible(e.Note, maxNoteRunes),
			From: max(e.Time.Sub(from), -farAway), To: r.Load.Duration, Count: 1,
		}
		if !l.Open {
			s.To = min(events[i+1].Time.Sub(from), farAway)
		}
		if s.To > 0 || s.From >= 0 { // not only until the window began
			l.Spans = append(l.Spans, s)
		}
	}
	l.Open = l.Open && events[len(events)-1].State != serving
	return l, true
}

// misplaced says that no event of a file lies within a run, or "".
func (c *Comparison) misplaced(f *runfile.Events) string {
	if len(f.List) == 0 {
		return f.Name + ": no events in it"
	}
	var first, last time.Time
	for i := range c.Columns {
		for _, r := range c.Columns[i].Runs {
			from, to, ok := r.Window()
			if !ok {
				continue
			}
			if slices.ContainsFunc(f.List, func(e runfile.Event) bool { return !e.Time.Before(from) && !e.Time.After(to) }) {
				return ""
			}
			if first.IsZero() || from.Before(first) {
				first = from
			}
			if last.Before(to) {
				last = to
			}
		}
	}
	if first.IsZero() {
		return f.Name + ": the runs do not say when they were measured, so no event can be placed: measure again"
	}
	byTime := func(a, b runfile.Event) int { return a.Time.Compare(b.Time) }
	clock := func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
	return fmt.Sprintf("%s: no event in it (%s to %s) lies within a run (%s to %s): is it of this measurement, and were the clocks alike?",
		f.Name, clock(slices.MinFunc(f.List, byTime).Time), clock(slices.MaxFunc(f.List, byTime).Time), clock(first), clock(last))
}

// compareNatural compares names so that 2 comes before 10.
func compareNatural(a, b string) int {
	number := func(s string) string {
		return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
	}
	x, y := a, b
	for x != "" && y != "" {
		m, n := number(x), number(y)
		if m != "" && n != "" {
			p, q := strings.TrimLeft(m, "0"), strings.TrimLeft(n, "0")
			if len(p) != len(q) {
				return len(p) - len(q)
			}
			if d := strings.Compare(p, q); d != 0 {
				return d
			}
			x, y = x[len(m):], y[len(n):]
			continue
		}
		if x[0] != y[0] {
			return int(x[0]) - int(y[0])
		}
		x, y = x[1:], y[1:]
	}
	if x != "" || y != "" {
		return len(x) - len(y)
	}
	return strings.Compare(a, b)
}
