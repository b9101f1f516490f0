package history

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/internal/cpuwatch"
)

const idTime = "20060102-150405.000"

// SnapshotID names a snapshot, so that names are in the order of times.
func SnapshotID(taken time.Time, why string) string { return taken.UTC().Format(idTime) + "-" + why }

// TakenAt returns when a snapshot was taken, or zero for another name.
func TakenAt(id string) time.Time {
	t, _ := time.Parse(idTime, id[:min(len(id), len(idTime))])
	return t
}

// Head is what the analysis of a snapshot needs in addition to its trace. A Threshold of 0 means
// that no request was slow.
type Head struct {
	Trace
	CPU   *cpuwatch.CPU `json:"cpu,omitempty"`
	Noted []Noted       `json:"noted,omitempty"`
}

// Noted is a slow request of a snapshot, by the number in its [Mark].
type Noted struct {
	Number  uint64 `json:"number"`
	Class   string `json:"class,omitempty"`
	TraceID string `json:"trace_id,omitempty"`
}

// Mark returns the mark of a slow request in a trace.
func Mark(id string, number uint64) string {
	m := "slow-" + strconv.FormatUint(number, 10)
	if id != "" {
		m = id[:min(len(id), 64)] + " " + m
	}
	return m
}

// unmark returns the number 0 if the mark is not a recorder's.
func unmark(m string) (id string, number uint64) {
	i := strings.LastIndexByte(m, ' ')
	digits, ok := strings.CutPrefix(m[i+1:], "slow-")
	if !ok {
		return m, 0
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return m, 0
	}
	return m[:max(i, 0)], number
}

// AddSnapshot adds what a snapshot says, and counts its requests as slow. It leaves out marked
// requests that h does not note, because they are counted elsewhere. The caller counts missed, the
// noted requests that the trace does not have.
func (s *Store) AddSnapshot(h *Head, e *Explained) (added []Request, missed []Noted) {
	open := make(map[uint64]*Noted, len(h.Noted))
	for i := range h.Noted {
		open[h.Noted[i].Number] = &h.Noted[i]
	}
	unmarked := map[string]bool{}
	e.Slow = slices.DeleteFunc(e.Slow, func(q Request) bool {
		_, number := unmark(q.Mark)
		return number > 0 && open[number] == nil
	})
	for i := range e.Slow {
		q := &e.Slow[i]
		id, number := unmark(q.Mark)
		q.Mark = id
		if number == 0 {
			unmarked[q.ID] = true
		} else if n := open[number]; n != nil { // else e names it twice
			q.TraceID = n.TraceID
			delete(open, number)
			s.Count(q.Start, q.Key.Class, Count{Slow: 1})
		}
	}
	added = s.addAll(e)
	for i := range added {
		if q := &added[i]; unmarked[q.ID] {
			s.Count(q.Start, q.Key.Class, Count{Slow: 1})
		}
	}
	dropped := e.Dropped
	for _, n := range h.Noted {
		switch {
		case open[n.Number] == nil:
		case dropped > 0:
			dropped--
			s.Count(h.Taken, n.Class, Count{Slow: 1})
		default:
			missed = append(missed, n)
		}
	}
	return added, missed
}

// AddKept adds what a kept snapshot says, to a store for [History.AddFound]. The snapshot's process
// has counted the noted requests as slow and kept.
func (s *Store) AddKept(h *Head, e *Explained) {
	_, missed := s.AddSnapshot(h, e)
	for _, n := range h.Noted {
		s.Count(h.Taken, n.Class, Count{Kept: 1})
	}
	for _, n := range missed {
		s.Count(h.Taken, n.Class, Count{Slow: 1, Limited: 1})
	}
}

// AddFound adds what a store of [Store.AddKept] has found. These requests count as kept no longer.
func (h *History) AddFound(found *History) {
	h.merge(&History{hours: found.hours, known: found.known, builds: found.builds})
	for at, x := range found.hours {
		for class, t := range x.classes {
			for minute, m := range t.Minutes {
				h.hours[at].unkeep(class, minute, m.Kept)
			}
		}
	}
}

// unkeep takes off n slow and n kept requests of a class and a minute, or of those of all classes
// together.
func (h *hour) unkeep(class string, minute uint8, n uint64) {
	slow, kept := n, 2*n
	for _, name := range []string{class, Others} {
		if t := h.classes[name]; t != nil && t.Minutes[minute] != nil {
			m := t.Minutes[minute]
			kept -= takeFrom(&m.Kept, kept)
			slow -= takeFrom(&m.Slow, slow)
		}
	}
}

func takeFrom(sum *uint64, n uint64) uint64 {
	n = min(n, *sum)
	*sum -= n
	return n
}
