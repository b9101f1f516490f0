package compare

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
)

// SetEvents places events on each run whose window has them.
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
	for n, es := range bySource {
		slices.SortStableFunc(es, func(a, b runfile.Event) int { return a.Time.Compare(b.Time) })
		bySource[n] = slices.CompactFunc(es, func(a, b runfile.Event) bool {
			return a.Time.Equal(b.Time) && a.State == b.State
		})
	}
	names := slices.SortedFunc(maps.Keys(bySource), compareNatural)
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

func (c *Comparison) Lanes(r *runfile.Run) []Lane { return c.lanes[r] }

func (c *Comparison) misplaced(f *runfile.Events) string {
	if len(f.List) == 0 {
		return f.Name + ": no events in it"
	}
	var begin time.Time // of a run
	for i := range c.Columns {
		for _, r := range c.Columns[i].Runs {
			from, to, ok := r.Window()
			if !ok {
				continue
			}
			begin = from
			if slices.ContainsFunc(f.List, func(e runfile.Event) bool {
				return !e.Time.Before(from) && !e.Time.After(to)
			}) {
				return ""
			}
		}
	}
	if begin.IsZero() {
		return f.Name + ": the runs do not say when they were measured, so no event can be placed: measure again"
	}
	clock := func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
	return fmt.Sprintf("%s: no event in it (the first of %s) lies within a run (the last from %s on): is it of this "+
		"measurement, and were the clocks alike?", f.Name, clock(f.List[0].Time), clock(begin))
}

const maxTallies = 40

type tally struct {
	source, state  string
	count          int
	total, longest time.Duration
}

func (c *Comparison) tallies(runs []*runfile.Run) []tally {
	var ts []tally
	for _, r := range runs {
		for _, l := range c.lanes[r] {
			for _, s := range l.Spans {
				i := slices.IndexFunc(ts, func(t tally) bool { return t.source == l.Source && t.state == s.State })
				if i < 0 {
					i = len(ts)
					ts = append(ts, tally{source: l.Source, state: s.State})
				}
				from, to := s.Clip(r.Load.Duration)
				ts[i].count++
				ts[i].total += to - from
				ts[i].longest = max(ts[i].longest, to-from)
			}
		}
	}
	slices.SortStableFunc(ts, func(a, b tally) int {
		return cmp.Or(compareNatural(a.source, b.source), cmp.Compare(b.total, a.total))
	})
	return ts
}

func (c *Comparison) eventsText(b *strings.Builder, s textfmt.Style) {
	for _, col := range c.Columns {
		ts := c.tallies(col.Runs)
		if len(ts) == 0 {
			continue
		}
		head := "events during " + col.Label
		if n := len(col.Runs); n > 1 {
			head += fmt.Sprintf(", %d repeats together", n)
		}
		fmt.Fprintf(b, "%s\n", s.Dim(textfmt.Printable(head)))
		t := textfmt.NewTable(4)
		for _, x := range ts[:min(len(ts), maxTallies)] {
			t.Row(fmt.Sprintf("  %s: %s", x.source, x.state), textfmt.Count(float64(x.count))+"x,",
				textfmt.Duration(x.total)+" in all, longest", textfmt.Duration(x.longest))
		}
		t.Render(b)
		if n := len(ts) - maxTallies; n > 0 {
			fmt.Fprintf(b, "  and %s more\n", textfmt.Count(float64(n)))
		}
	}
}

func (c *Comparison) EventsText(r *runfile.Run) string {
	ts := c.tallies([]*runfile.Run{r})
	var parts []string
	for _, t := range ts[:min(len(ts), maxTallies)] {
		parts = append(parts, fmt.Sprintf("%s: %s %sx, %s in all.", t.source, t.state, textfmt.Count(float64(t.count)),
			textfmt.Duration(t.total)))
	}
	if len(parts) == 0 {
		return "No source left the state serving."
	}
	return strings.Join(parts, " ")
}

const serving = "serving" // the normal state, which is not drawn and not counted

const (
	maxNameRunes = 100
	maxNoteRunes = 120
	farAway      = 876000 * time.Hour
)

// Lane is one source within the window of a run.
type Lane struct {
	Source string
	Known  time.Duration
	Spans  []Span // other than serving
	Open   bool
}

// Span is a state, or several that are drawn as one.
type Span struct {
	State, Note string
	From, To    time.Duration // since the window's start; may outlast the window
	Count       int
}

// Clip returns the part of a span that lies within a window.
func (s Span) Clip(window time.Duration) (from, to time.Duration) {
	return min(max(s.From, 0), window), min(max(s.To, 0), window)
}

// A lane needs a line within the window, or a state other than serving around it.
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
		if s.To > 0 || s.From >= 0 {
			l.Spans = append(l.Spans, s)
		}
	}
	l.Open = l.Open && events[len(events)-1].State != serving
	return l, true
}

var number = regexp.MustCompile(`[0-9]+`)

// No name has a longer number than the keys have digits.
func compareNatural(a, b string) int {
	const digits = maxNameRunes
	key := func(name string) string {
		return number.ReplaceAllStringFunc(name, func(n string) string {
			return strings.Repeat("0", max(digits-len(n), 0)) + n
		})
	}
	return cmp.Or(strings.Compare(key(a), key(b)), strings.Compare(a, b))
}
