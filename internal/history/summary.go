package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

// Summary is what a history knows about a cause, in all classes of requests.
type Summary struct {
	Key      Key      // with the first of Classes
	Classes  []string // the most frequent first
	Requests uint64
	Share    float64
	Lost     time.Duration // beyond the usual request
	First    time.Time
	Last     time.Time

	// New reports that the cause came within the hour before the last slow request, or that no
	// build before the last had it (SinceBuild). Nothing is new compared with less than an hour of
	// watching, or if less than 5% of that was recorded. At most five causes are New.
	New        bool
	SinceBuild bool

	Worst Request
}

// Summaries returns the causes since a time, those with the largest share first. The machine's
// stalls come last.
func (h *History) Summaries(since time.Time) []Summary {
	sums := map[Key]*Summary{}
	requests := map[Key]uint64{} // of a cause in a class
	for at, x := range h.hours {
		for k, c := range x.cells {
			var n lost
			for minute, m := range c.Minutes {
				if within(at, minute, since) {
					n.add(*m)
				}
			}
			if n.Requests == 0 {
				continue
			}
			s := entry(&sums, k.anyClass())
			if requests[k] == 0 {
				s.Classes = append(s.Classes, k.Class)
			}
			requests[k] += n.Requests
			s.Requests += n.Requests
			s.Lost += n.Time
			s.First, s.Last = earlier(s.First, c.First), later(s.Last, c.Last)
			if compareWorst(&c.Worst, &s.Worst) < 0 {
				s.Worst = c.Worst
			}
		}
	}
	list := shared(sums, requests, h.weights(since))
	judge, fresh := h.newness(), 0
	for i := range list {
		s := &list[i]
		k := s.Key.anyClass()
		if x := judge.known[k]; x != nil && k.Function != Others {
			s.First = earlier(s.First, x.First)
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

// shared sorts the causes by their shares, and the classes of each by their requests.
func shared(sums map[Key]*Summary, requests map[Key]uint64, weights map[string]float64) []Summary {
	list, all := make([]Summary, 0, len(sums)), 0.
	for _, k := range slices.SortedFunc(maps.Keys(sums), compareKeys) {
		s := sums[k]
		slices.SortFunc(s.Classes, func(a, b string) int {
			return cmp.Or(cmp.Compare(requests[k.in(b)], requests[k.in(a)]), cmp.Compare(a, b))
		})
		for _, class := range s.Classes {
			s.Share += float64(requests[k.in(class)]) * cmp.Or(weights[class], 1)
		}
		s.Key = k.in(s.Classes[0])
		all += s.Share
		list = append(list, *s)
	}
	for i := range list {
		list[i].Share /= all
	}
	slices.SortFunc(list, func(a, b Summary) int {
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

func (h *History) weights(since time.Time) map[string]float64 {
	w := map[string]float64{}
	for class, c := range h.CoverageByClass(since) {
		if c.Seen > 0 {
			w[class] = max(float64(c.Slow)/float64(c.Seen), 1)
		}
	}
	return w
}

func (h *History) Coverage(since time.Time) (sum Coverage) {
	for _, c := range h.CoverageByClass(since) {
		sum.add(c)
	}
	return sum
}

// CoverageByClass returns that of each class.
func (h *History) CoverageByClass(since time.Time) map[string]Coverage {
	sums := map[string]Coverage{}
	for at, x := range h.hours {
		for class, t := range x.classes {
			c := sums[class]
			for minute, m := range t.Minutes {
				if within(at, minute, since) {
					c.add(*m)
				}
			}
			if c != (Coverage{}) {
				sums[class] = c
			}
		}
	}
	return sums
}

type newness struct {
	known map[Key]*known
	begin time.Time
	last  time.Time
	build string // that was first seen last
	older watch
	all   watch
}

func (h *History) newness() (n newness) {
	for k, x := range h.known {
		n.begin, n.last = earlier(n.begin, x.First), later(n.last, x.Last)
		entry(&n.known, k.anyClass()).merge(x)
	}
	if len(h.builds) == 0 {
		return n
	}
	names := h.buildNames()
	n.build = names[len(names)-1]
	for b, w := range h.builds {
		n.begin = earlier(n.begin, w.First)
		n.all.add(*w)
		if b != n.build {
			n.older.add(*w)
		}
	}
	return n
}

func (n *newness) of(k Key) (isNew, sinceBuild bool) {
	x := n.known[k]
	if x == nil || k.Function == Others || k.Services != "" || k.Cause == reqtrace.CauseMachine {
		// Others are many causes, and the machine is not the program's. Which requests are joined
		// with other services depends on the snapshots of these.
		return false, false
	}
	if len(x.builds) == 1 && x.builds[n.build] && n.older.enough() {
		return true, true
	}
	return n.all.enough() && x.First.Sub(n.begin) >= newLeast && n.last.Sub(x.First) <= newFor, false
}

func (k Key) words() string {
	switch {
	case k.Services != "":
		return "waiting for " + k.awaited()
	case k.Function == Others && k.Class == Others:
		return "other causes: " + verdict.Phrase(k.Cause)
	}
	return verdict.Words(&reqtrace.Blame{Cause: k.Cause, Site: k.Function, Holder: k.Holder})
}

// awaited returns "prices: waiting for a lock that main.refresh holds, in main.get".
func (k Key) awaited() string {
	of := k
	of.Services = ""
	return through(k.Services) + ": " + of.words()
}

// String returns "waiting for a lock that main.refresh holds, in main.get, in GET /orders and 2
// more".
func (s *Summary) String() string { return s.Key.words() + s.in() }

func (s *Summary) in() string {
	if s.Key.Function == Others && s.Key.Class == Others {
		return ""
	}
	t := ", in " + verdict.ClassText(s.Key.Class)
	if n := len(s.Classes) - 1; n > 0 {
		t += fmt.Sprintf(" and %d more", n)
	}
	return t
}

// SentenceOf says which other service slow requests of a service waited for, and why, if that is the
// largest cause. Otherwise it is as [History.Sentence].
func (h *History) SentenceOf(service string, since time.Time) string {
	list, c := h.Summaries(since), h.Coverage(since)
	if len(list) == 0 || list[0].Key.Services == "" {
		return service + ": " + h.Sentence(since)
	}
	of := service + "'s slow requests"
	if n := max(c.Slow, c.Seen); 2*c.Seen < n {
		of = fmt.Sprintf("%s of %s's %s slow requests that are explained", textfmt.Count(float64(c.Seen)), service,
			textfmt.Count(float64(n)))
	}
	return fmt.Sprintf("%s of %s waited for %s.", textfmt.Share(list[0].Share), of, list[0].Key.awaited())
}

const (
	sentenceLength = 150
	sentenceCauses = 3
	sentenceShare  = .1
)

// Sentence says in 150 characters what made requests slow since a time. It names the machine's
// stalls only if nothing else made requests slow.
func (h *History) Sentence(since time.Time) string {
	list, c := h.Summaries(since), h.Coverage(since)
	n := max(c.Slow, c.Seen)
	text := textfmt.Plural(int(n), "request") + " were slow"
	if n == 1 {
		text = "1 request was slow"
	}
	switch {
	case n == 0:
		return "no request was slow"
	case c.Seen == 0 && c.Kept > 0:
		kept := textfmt.Count(float64(c.Kept))
		if c.Kept == n {
			kept = "all"
		}
		return text + "; " + kept + " of them in snapshots that are not analysed"
	case c.Seen == 0, len(list) == 0: // a file may count requests and name no cause
		return text + ", and none of them is explained"
	case list[0].Key.Cause == reqtrace.CauseMachine:
		return text + ", because the machine stood still (as far as explained)"
	}
	if 2*c.Seen < n {
		text += fmt.Sprintf(" (%s explained)", textfmt.Count(float64(c.Seen)))
	}
	for i, s := range list[:min(len(list), sentenceCauses)] {
		if i > 0 && (s.Share < sentenceShare || s.Key.Cause == reqtrace.CauseMachine) {
			break
		}
		from, mark := ": ", ""
		if i > 0 {
			from = "; "
		}
		if s.New {
			mark = " (new)"
		}
		next := from + textfmt.Share(s.Share) + " " + s.Key.words()
		switch {
		case length(text+next+s.in()+mark) <= sentenceLength:
			text += next + s.in() + mark
		case length(text+next+mark) <= sentenceLength:
			text += next + mark
		case i == 0:
			text += string([]rune(next)[:sentenceLength-length(text)-1]) + "…"
			return text
		default:
			return text
		}
	}
	return text
}

func length(s string) int { return utf8.RuneCountInString(s) }
