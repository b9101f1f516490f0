package history

import (
	"cmp"
	"slices"
	"time"

	"evenkeel.dev/reqtrace"
)

// Summary is what a history knows about a cause, in all classes of requests.
type Summary struct {
	Key      Key           // its Class is the first of Classes
	Classes  []string      // of the requests that it made slow, the most frequent first
	Requests uint64        // explained requests that it made slow
	Share    float64       // of all slow requests, 0 to 1: the explained requests of a class stand for the rest of it
	Lost     time.Duration // time that these requests took beyond the usual request
	First    time.Time     // when it was first seen, in all that the history remembers
	Last     time.Time     // when it was last seen

	// New reports that the cause was first seen within the hour before the last slow request, and
	// that the service had been watched for an hour by then. It also reports that no build before
	// the last had the cause (SinceBuild). Nothing is new compared with builds that were watched
	// for less than an hour, or recorded for less than 5% of the time. At most five causes are New,
	// those with the largest share.
	New        bool
	SinceBuild bool

	Worst Request // the slowest request since the time that was asked for
}

// Summaries returns the causes of the slow requests since a time, those with the largest share
// first. The machine's stalls come last. The zero time asks for all hours. Hours that no longer
// keep minutes apart count as a whole if they end after since.
func (h *History) Summaries(since time.Time) []Summary {
	classes := map[Key]*Summary{} // by class too
	for at, x := range h.hours {
		for k, c := range x.cells {
			var n lost
			for _, m := range c.minutes {
				if within(at, m.minute, since) {
					n.add(m.of)
				}
			}
			if n.requests == 0 {
				continue
			}
			s := classes[k]
			if s == nil {
				s = &Summary{Key: k, First: c.first, Last: c.last, Worst: c.worst}
				classes[k] = s
			}
			s.Requests += n.requests
			s.Lost += n.time
			s.First, s.Last = earlier(s.First, c.first), later(s.Last, c.last)
			if compareWorst(&c.worst, &s.Worst) < 0 {
				s.Worst = c.worst
			}
		}
	}
	list := h.folded(classes, since)
	judge, fresh := h.newness(), 0
	for i := range list {
		s := &list[i]
		k := s.Key.anyClass()
		if x := judge.known[k]; x != nil && k.Function != Others {
			s.First = earlier(s.First, x.first)
		}
		if fresh < maxNew {
			s.New, s.SinceBuild = judge.of(k)
		}
		if s.New {
			fresh++
		}
	}
	return list
}

// folded merges the classes of each cause.
func (h *History) folded(classes map[Key]*Summary, since time.Time) []Summary {
	keys := sortedByKey(classes)
	slices.SortStableFunc(keys, func(a, b Key) int { return cmp.Compare(classes[b].Requests, classes[a].Requests) })
	sums, weights, all := map[Key]*Summary{}, h.weights(since), 0.
	var order []*Summary
	for _, k := range keys {
		c := classes[k]
		stands := float64(c.Requests) * weights.of(k.Class)
		all += stands
		s := sums[k.anyClass()]
		if s == nil {
			s = &Summary{Key: k, First: c.First, Last: c.Last, Worst: c.Worst}
			sums[k.anyClass()] = s
			order = append(order, s)
		}
		s.Classes = append(s.Classes, k.Class)
		s.Requests += c.Requests
		s.Share += stands
		s.Lost += c.Lost
		s.First, s.Last = earlier(s.First, c.First), later(s.Last, c.Last)
		if compareWorst(&c.Worst, &s.Worst) < 0 {
			s.Worst = c.Worst
		}
	}
	list := make([]Summary, 0, len(order))
	for _, s := range order {
		s.Share /= all
		list = append(list, *s)
	}
	slices.SortStableFunc(list, func(a, b Summary) int {
		machine := func(s Summary) int {
			if s.Key.Cause == reqtrace.CauseMachine {
				return 1
			}
			return 0
		}
		return cmp.Or(
			cmp.Compare(machine(a), machine(b)), cmp.Compare(b.Share, a.Share), cmp.Compare(b.Requests, a.Requests),
			cmp.Compare(b.Lost, a.Lost), compareKeys(a.Key, b.Key),
		)
	})
	return list
}

// weights says by class how many slow requests an explained one stands for. A class without
// explained requests has no weight.
type weights map[string]float64

func (h *History) weights(since time.Time) weights {
	w := weights{}
	for class, c := range h.CoverageByClass(since) {
		if c.Seen > 0 {
			w[class] = max(float64(c.Slow)/float64(c.Seen), 1)
		}
	}
	return w
}

// of returns the weight of a class, 1 for requests that are counted together.
func (w weights) of(class string) float64 { return cmp.Or(w[class], 1) }

// Coverage returns how many slow requests there were since a time, and how many of them are
// explained. It selects hours and minutes as Summaries does.
func (h *History) Coverage(since time.Time) (sum Coverage) {
	for _, c := range h.CoverageByClass(since) {
		sum.add(c)
	}
	return sum
}

// CoverageByClass is Coverage of each class.
func (h *History) CoverageByClass(since time.Time) map[string]Coverage {
	sums := map[string]Coverage{}
	for at, x := range h.hours {
		for class, t := range x.classes {
			c := sums[class]
			for _, m := range t.minutes {
				if within(at, m.minute, since) {
					c.add(m.of)
				}
			}
			if c != (Coverage{}) {
				sums[class] = c
			}
		}
	}
	return sums
}
