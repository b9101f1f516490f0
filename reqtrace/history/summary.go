package history

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Summary is what a history says of a cause.
type Summary struct {
	Key      Key
	Requests uint64        // that it made slow, of those that are explained
	Share    float64       // of all slow requests, 0 to 1: what is explained of a class stands for what is not
	Lost     time.Duration // that it took of them, beyond the usual request's
	First    time.Time     // when it was first seen, in all that the history remembers
	Last     time.Time     // when it was last seen

	// New says that it was first seen within the hour before the last one was, when other slow requests had been watched for 2 minutes at
	// least; or that it is SinceBuild: no build before the last had it.
	New        bool
	SinceBuild bool

	Worst Request // the slowest, of the hours that were asked for
}

// Summaries returns the causes of the slow requests since a time, those with the largest share first. A zero time: of all hours. What is no
// longer told apart by minutes counts where its hour is not over at since.
func (h *History) Summaries(since time.Time) []Summary {
	sums := map[Key]*Summary{}
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
			s := sums[k]
			if s == nil {
				s = &Summary{Key: k, First: c.first, Last: c.last, Worst: c.worst}
				sums[k] = s
			}
			s.Requests += n.requests
			s.Lost += n.time
			s.First, s.Last = earlier(s.First, c.first), later(s.Last, c.last)
			if compareWorst(&c.worst, &s.Worst) < 0 {
				s.Worst = c.worst
			}
		}
	}
	list := make([]Summary, 0, len(sums))
	judge, weights, all := h.newness(), h.weights(since), 0.
	for _, k := range sortedByKey(sums) {
		s := sums[k]
		s.Share = float64(s.Requests) * weights.of(k.Class)
		all += s.Share
		judge.mark(s, h.known[k])
		list = append(list, *s)
	}
	for i := range list {
		list[i].Share /= all
	}
	slices.SortFunc(list, func(a, b Summary) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(b.Requests, a.Requests), cmp.Compare(b.Lost, a.Lost), compareKeys(a.Key, b.Key))
	})
	return list
}

// weights are how many slow requests an explained one stands for, by class. A class of which none is explained counts for nothing.
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

// of returns that of a class; of what is counted together it is 1.
func (w weights) of(class string) float64 { return cmp.Or(w[class], 1) }

// newness tells new causes from others.
type newness struct {
	begin time.Time // of all that is known
	last  time.Time // when a slow request was last explained
	build string    // the last
	older bool      // there is another
}

func (h *History) newness() (n newness) {
	for _, x := range h.known {
		if n.begin.IsZero() || x.first.Before(n.begin) {
			n.begin = x.first
		}
		n.last = later(n.last, x.last)
	}
	if len(h.builds) > 0 {
		n.build = h.lastBuild()
		n.older = len(h.builds) > 1
		for _, at := range h.builds {
			n.begin = earlier(n.begin, at)
		}
	}
	return n
}

// lastBuild returns the build that was first told last. There is one.
func (h *History) lastBuild() string {
	return slices.MaxFunc(slices.Collect(maps.Keys(h.builds)), func(a, b string) int { return cmp.Or(h.builds[a].Compare(h.builds[b]), cmp.Compare(a, b)) })
}

func (n *newness) mark(s *Summary, k *known) {
	if k == nil || s.Key.Function == Others && s.Key.Class == Others { // it stands for many
		return
	}
	s.First = earlier(s.First, k.first)
	s.SinceBuild = n.older && len(k.builds) == 1 && k.builds[n.build]
	s.New = s.SinceBuild || k.first.Sub(n.begin) >= newBeginAt && n.last.Sub(k.first) <= newFor
}

// Coverage returns how many slow requests there were since a time, and how many of them are explained. It takes minutes as Summaries does.
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

// Build is a build of a service, and when it was first told of.
type Build struct {
	Name  string
	First time.Time
}

// Builds returns the builds that the history knows, the oldest first.
func (h *History) Builds() []Build {
	list := make([]Build, 0, len(h.builds))
	for b, at := range h.builds {
		list = append(list, Build{b, at})
	}
	slices.SortFunc(list, func(a, b Build) int { return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.Name, b.Name)) })
	return list
}
