package compare

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
)

// serving is the normal state, which is not drawn and not counted.
const serving = "serving"

const (
	maxNameRunes = 100                // of a source or a state
	maxNoteRunes = 120                // of an event's note
	farAway      = 876000 * time.Hour // from a window's start
)

// Lane is what one source did within the window of a run.
type Lane struct {
	Source string
	Known  time.Duration // since when its state is known, at least 0
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

// newLane returns the lane of one source's events, in order of time. It needs a line within the
// window, or a state other than serving around the window.
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
		if s.To > 0 || s.From >= 0 { // not only before the window
			l.Spans = append(l.Spans, s)
		}
	}
	l.Open = l.Open && events[len(events)-1].State != serving
	return l, true
}

var number = regexp.MustCompile(`[0-9]+`)

// compareNatural compares names so that 2 comes before 10. No name has a longer number than the
// keys have digits.
func compareNatural(a, b string) int {
	const digits = maxNameRunes
	key := func(name string) string {
		return number.ReplaceAllStringFunc(name, func(n string) string {
			return strings.Repeat("0", max(digits-len(n), 0)) + n
		})
	}
	return cmp.Or(strings.Compare(key(a), key(b)), strings.Compare(a, b))
}
