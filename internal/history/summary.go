package history

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"evenkeel.dev/reqtrace"
)

// Summary is what a history knows about a cause, in all classes of requests.
type Summary struct {
	Key      Key           // with the first of Classes
	Classes  []string      // the most frequent first
	Requests uint64        // that are explained
	Share    float64       // of all slow requests, 0 to 1
	Lost     time.Duration // beyond the usual request
	First    time.Time     // in all that the history remembers
	Last     time.Time

	// New reports that the cause came within the hour before the last slow request, after an hour
	// of watching, or that no build before the last had it (SinceBuild). Nothing is new compared
	// with builds that were watched for less than an hour, or recorded for less than 5% of the
	// time. At most five causes are New.
	New        bool
	SinceBuild bool

	Worst Request // since the time that was asked for
}

// Summaries returns the causes of the slow requests since a time, those with the largest share
// first. The machine's stalls come last. Hours that do not keep minutes apart count as a whole.
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
			of := &Summary{
				Key: k, Requests: n.requests, Lost: n.time, First: c.first, Last: c.last, Worst: c.worst,
			}
			if classes[k] == nil {
				classes[k] = of
			} else {
				classes[k].add(of)
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

func (s *Summary) add(x *Summary) {
	s.Requests += x.Requests
	s.Share += x.Share
	s.Lost += x.Lost
	s.First, s.Last = earlier(s.First, x.First), later(s.Last, x.Last)
	if compareWorst(&x.Worst, &s.Worst) < 0 {
		s.Worst = x.Worst
	}
}

func (h *History) folded(classes map[Key]*Summary, since time.Time) []Summary {
	keys := slices.SortedFunc(maps.Keys(classes), func(a, b Key) int {
		return cmp.Or(cmp.Compare(classes[b].Requests, classes[a].Requests), compareKeys(a, b))
	})
	sums, weights, all := map[Key]*Summary{}, h.weights(since), 0.
	var order []*Summary
	for _, k := range keys {
		c := classes[k]
		c.Share = float64(c.Requests) * cmp.Or(weights[k.Class], 1)
		all += c.Share
		s := sums[k.anyClass()]
		if s == nil {
			s = c
			sums[k.anyClass()] = s
			order = append(order, s)
		} else {
			s.add(c)
		}
		s.Classes = append(s.Classes, k.Class)
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

// weights returns by class how many slow requests an explained one stands for.
func (h *History) weights(since time.Time) map[string]float64 {
	w := map[string]float64{}
	for class, c := range h.CoverageByClass(since) {
		if c.Seen > 0 {
			w[class] = max(float64(c.Slow)/float64(c.Seen), 1)
		}
	}
	return w
}

// Coverage returns how many slow requests since a time are explained.
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
