// Package across says which of several services makes the slowest requests of the first one slow, from
// their traces of the same time:
//
//	service.go, store.go                keep the requests of each service
//	byid.go                             joins a call and its request by the id that both traces have
//	byconnection.go, vote.go, align.go  join them without ids
//	clock.go, clocknoids.go             how far two clocks are apart, with ids and without
//	replace.go                          replaces each wait for a service by what that service did
//	across.go, story.go                 compare the slow with the median requests, and say it
package across

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

const (
	worthTimes = 2 // the slowest 1% take more than so many times the median
	worthTime  = time.Millisecond
	worthShare = .5 // of the excess: a service that is named
	// The same of a way to a service, because all ways are slow on a machine that other processes use.
	worthWay = .75
	// What a busy machine takes of a request. Linux gives other processes up to 3 ms at a time
	// (kernel/sched/fair.c), and a request may wait for a CPU more than once.
	machineTakes = 10 * time.Millisecond
	enoughSlow   = 30 // requests for a standard error; with fewer, some long ones tell too much
	pathsKept    = 5
	mostUnsure   = .2  // of the calls that were found
	mostFound    = .95 // of the calls; others began or ended outside of a trace
	likely       = .5  // of the waits for the network that have to be joined
)

// Join tells the story. The first service must have requests.
func (f *Fleet) Join() *Story {
	services := slices.DeleteFunc(slices.Clone(f.services), func(s *Service) bool { return s.Report == nil })
	j, front := newJoiner(services), services[0]
	s := &Story{Parts: []Part{}, Caveats: []string{}, Clocks: []Offset{}, Slowest: [][]Span{}, Found: len(j.links)}
	for _, x := range services {
		s.Calls += len(x.calls)
	}
	s.Calls += j.unmarked
	for i := range j.links {
		if j.links[i].ordered {
			s.Ordered++
		}
		if j.links[i].likely {
			s.Unsure++
		}
	}
	n := len(front.requests)
	for i := n - 1; i >= max(n-pathsKept, front.medians); i-- {
		s.Slowest = append(s.Slowest, j.path(ref{0, i}, front.requests[i].begin(), 0, 0))
	}
	median, tail := j.sum(0, front.medians), j.sum(front.medians, n)
	s.clocks(j)
	s.parts(services, median, tail)
	s.spread(j, median)
	s.say(services)
	return s
}

// sum returns the mean of some requests of the first service.
func (j *joiner) sum(from, to int) *spent {
	into := newSpent()
	for i := from; i < to; i++ {
		j.add(into, ref{0, i}, 1/float64(to-from), 0)
	}
	return into
}

func (s *Story) clocks(j *joiner) {
	for key, c := range j.clocks {
		if c.pairs == 0 {
			continue
		}
		o := Offset{Caller: j.services[key[0]].Name, Callee: j.services[key[1]].Name}
		offset, within := c.Offset()
		o.Offset, o.Within = time.Duration(offset), time.Duration(within)
		s.Clocks = append(s.Clocks, o)
		switch {
		case within > unsure:
			s.Caveats = append(s.Caveats, fmt.Sprintf("The clocks of %s and %s are compared within %s only, so times "+
				"between them are uncertain.", o.Caller, o.Callee, textfmt.Duration(o.Within)))
		case !c.certain():
			s.Caveats = append(s.Caveats, fmt.Sprintf("The clocks of %s and %s do not agree, so times between them "+
				"are uncertain. Trace under less load.", o.Caller, o.Callee))
		}
	}
	slices.SortFunc(s.Clocks, func(a, b Offset) int {
		return cmp.Or(strings.Compare(a.Caller, b.Caller), strings.Compare(a.Callee, b.Callee))
	})
}

func (s *Story) parts(services []*Service, median, tail *spent) {
	sums := map[what]*Part{}
	part := func(w what) *Part {
		w.blame = 0
		if sums[w] == nil {
			sums[w] = &Part{Service: services[w.service].Name, Between: w.between}
		}
		return sums[w]
	}
	network := 0.
	for w, ns := range tail.ns {
		part(w).Tail += time.Duration(ns)
		if !w.between && services[w.service].blames[w.blame].Cause == reqtrace.CauseNetwork {
			network += ns
		}
	}
	for w, ns := range median.ns {
		part(w).Median += time.Duration(ns)
	}
	s.Joined = 1
	if network+tail.joined > 0 {
		s.Joined = tail.joined / (network + tail.joined)
	}
	var all time.Duration
	for w, p := range sums {
		p.Excess = p.Tail - p.Median
		s.Median, s.Tail = s.Median+p.Median, s.Tail+p.Tail
		all += max(p.Excess, 0)
		p.Via = chain(services, tail.via, w.service)
		if w.between {
			p.starved = services[w.service].starved(tail.ways[w.service])
		} else {
			p.Verdict = verdict.Of(reportOf(services[w.service], w.service, median, tail))
		}
	}
	for w, p := range sums {
		if way := sums[what{service: w.service, between: true}]; !w.between && way != nil {
			p.takeUnread(way)
		}
	}
	for w, p := range sums {
		if p.Median == 0 && p.Tail == 0 && w.between {
			continue
		}
		if all > 0 {
			p.Share = float64(max(p.Excess, 0)) / float64(all)
		}
		s.Parts = append(s.Parts, *p)
	}
	slices.SortFunc(s.Parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(b.Excess, a.Excess), strings.Compare(a.Service, b.Service))
	})
}

// starves are the causes of a service that has no CPU to read requests.
var starves = []reqtrace.Cause{
	reqtrace.CauseRunqueueGC, reqtrace.CauseRunqueueBusy, reqtrace.CauseThrottled, reqtrace.CauseDescheduled,
	reqtrace.CauseStopped,
}

// leastStarved is how much a service's own part has to be, of the way to it.
const leastStarved = .25

// takeUnread adds the way to a service that waits for CPUs. What keeps its requests from a CPU keeps it
// from reading them, too.
func (p *Part) takeUnread(way *Part) {
	v := p.Verdict
	if v == nil || !v.Named || len(v.Causes) == 0 || !slices.Contains(starves, v.Causes[0].Cause) ||
		float64(p.Excess) < leastStarved*float64(way.Excess) || way.Excess <= 0 {
		return
	}
	p.Unread = way.Excess
	p.Median, p.Tail, p.Excess = p.Median+way.Median, p.Tail+way.Tail, p.Excess+way.Excess
	way.Median, way.Tail, way.Excess = 0, 0, 0
}

// leastWay is for how long requests have to be on the way, so that a service without a CPU is seen. The
// runtime of a traced process wakes up each 100 ms (runtime/tracecpu.go), and is late without one.
const leastWay = 300 * time.Millisecond

// starved says why a service may not have read requests for lack of a CPU, or returns "".
func (s *Service) starved(ways []during) string {
	slices.SortFunc(ways, func(a, b during) int { return cmp.Compare(a.from, b.from) })
	m := &s.Report.Machine
	var took, stood time.Duration
	seen := int64(math.MinInt64)
	for _, w := range ways {
		w.from = max(w.from, seen)
		seen = max(seen, w.to)
		took += time.Duration(max(w.to-w.from, 0))
		for _, x := range m.Spans {
			from, to := max(w.from, s.began+int64(x.Start)), min(w.to, s.began+int64(x.End))
			stood += time.Duration(max(to-from, 0))
		}
	}
	text := fmt.Sprintf("Requests were on the way for %s of the trace.", textfmt.Duration(took))
	switch lost := verdict.LostTime(s.Report); {
	case lost+stood >= took/2:
		if stood > 0 {
			text += fmt.Sprintf(" %s stood still for %s of that.", s.Name, textfmt.Duration(stood))
		}
		if lost > 0 {
			text += fmt.Sprintf(" The threads of %s waited %s for a CPU.", s.Name, textfmt.Duration(lost))
		}
		return text + " That looks the same."
	case m.Threads == 0 && took < leastWay:
		return text + fmt.Sprintf(" %s may have had no CPU then. Trace for longer, or under more load.", s.Name)
	}
	return ""
}

// reportOf returns a report of what one service did for the requests of the first one.
func reportOf(s *Service, service int, median, tail *spent) *reqtrace.Report {
	r := *s.Report
	r.Classes, r.Blocks = nil, nil
	band := func(from *spent) (b reqtrace.Band) {
		for w, ns := range from.ns {
			if w.service != service || w.between {
				continue
			}
			blame := s.blames[w.blame]
			b.Parts.Add(blame.Cause, time.Duration(ns))
			blame.Time, blame.Longest = time.Duration(ns), time.Duration(from.longest[w])
			if blame.Site != "" || blame.Holder != "" {
				b.Sites = append(b.Sites, blame)
			}
		}
		b.Mean, b.Requests = b.Parts.Total(), r.Tail.Requests
		slices.SortFunc(b.Sites, func(x, y reqtrace.Blame) int {
			return cmp.Or(cmp.Compare(y.Time, x.Time), strings.Compare(x.Site, y.Site))
		})
		return b
	}
	samples := r.Tail.Samples
	r.Median, r.Tail = band(median), band(tail)
	r.Tail.Samples, r.Tail.Min, r.Tail.Max = samples, 0, r.Tail.Mean
	for _, c := range reqtrace.Causes() {
		r.Tail.Excess.Add(c, r.Tail.Parts.Of(c)-r.Median.Parts.Of(c))
	}
	return &r
}

// spread says in how many of the slowest requests the first part is more than half of the excess, and how
// small its share may be because they differ: two standard errors of a ratio of means (Cochran, Sampling
// Techniques, 1977, chapter 6).
func (s *Story) spread(j *joiner, median *spent) {
	front := j.services[0]
	s.Slow = len(front.requests) - front.medians
	if len(s.Parts) == 0 || !s.Enough() {
		return
	}
	usual, p := median.byPart(), &s.Parts[0]
	var parts, excesses []float64
	var part, excess float64
	for i := front.medians; i < len(front.requests); i++ {
		of, all := 0., 0.
		for w, ns := range j.sum(i, i+1).byPart() {
			more := max(ns-usual[w], 0)
			all += more
			if p.Service == j.services[w.service].Name && (p.Between == w.between || p.Unread > 0) {
				of += more
			}
		}
		parts, excesses = append(parts, of), append(excesses, all)
		part, excess = part+of, excess+all
		if of > all/2 {
			s.most++
		}
	}
	if excess == 0 {
		return
	}
	squares, n := 0., float64(s.Slow)
	for i, of := range parts {
		off := of - part/excess*excesses[i]
		squares += off * off
	}
	s.Least = max(p.Share-2*math.Sqrt(squares*n/(n-1))/excess, 0)
}

// chain returns the places by which the first service waits most for another one.
func chain(services []*Service, waited map[via]float64, service int) (steps []Step) {
	for service != 0 && len(steps) < maxDepth {
		most := via{}
		for _, v := range slices.SortedFunc(maps.Keys(waited), func(a, b via) int {
			return cmp.Or(cmp.Compare(waited[b], waited[a]), strings.Compare(a.site, b.site))
		}) {
			if v.callee == service {
				most = v
				break
			}
		}
		if most == (via{}) {
			return steps
		}
		steps = append([]Step{{services[most.caller].Name, most.site}}, steps...)
		service = most.caller
	}
	return steps
}

func (s *Story) say(services []*Service) {
	front := services[0].Name
	of := "of the extra time of " + front + "'s slowest requests"
	if s.Found == 0 {
		s.Caveats = append(s.Caveats, "No call was found in another trace. If the services do call each other, mark "+
			"the calls: wrap handlers with region.Middleware and transports with region.Transport.")
	}
	if s.Unsure > 0 {
		s.Caveats = append(s.Caveats, fmt.Sprintf("%s of %s are joined on thin evidence.",
			textfmt.Count(float64(s.Unsure)), textfmt.Plural(s.Found, "call")))
	}
	if float64(s.Found) < mostFound*float64(s.Calls) {
		s.Caveats = append(s.Caveats, fmt.Sprintf("%s of %s were found in the other traces.",
			textfmt.Count(float64(s.Found)), textfmt.Plural(s.Calls, "call")))
	}
	if len(s.Parts) == 0 || !s.Worth() {
		s.Sentence = fmt.Sprintf("No cause to name. The slowest 1%% of %s's requests take only %s more than the "+
			"median request.", front, textfmt.Duration(max(s.Tail-s.Median, 0)))
		return
	}
	p := &s.Parts[0]
	share := textfmt.Share(p.Share)
	is := "is"
	if !s.Known() || float64(s.Unsure) > mostUnsure*float64(s.Found) {
		is = "is likely"
	}
	v := p.Verdict
	doubt := s.doubt(p)
	untraced := v != nil && v.Named && v.Causes[0].Cause == reqtrace.CauseNetwork
	switch {
	case p.Share < worthWay && p.Between:
		s.Sentence = fmt.Sprintf("No service stands out. At most %s %s is on the way to %s and back.", share, of,
			p.Service)
		return
	case p.Share < worthShare:
		s.Sentence = fmt.Sprintf("No service stands out. At most %s %s is in %s.", share, of, p.Service)
		return
	case doubt != "":
		where := "in " + p.Service
		if p.Between {
			where = "on the way to " + p.Service + " and back"
		}
		s.Sentence = fmt.Sprintf("No service is certain. %s %s is %s. %s", share, of, where, doubt)
		return
	case p.Between:
		s.Sentence = fmt.Sprintf("%s %s %s on the way to %s and back%s.", share, of, is, p.Service, by(p.Via))
		s.Detail = "It is on the network, or the request was not read yet."
		s.Fix = "look at the network, and at the accept queue and the CPUs of " + p.Service + "."
	case p.Service == front && untraced:
		s.Sentence = fmt.Sprintf("%s %s is waiting for a service without a trace.", share, of)
	case p.Service == front:
		s.Sentence = fmt.Sprintf("%s %s %s its own.", share, of, is)
	case untraced:
		s.Sentence = fmt.Sprintf("%s %s %s waiting for %s, which waits for a service without a trace%s.", share, of, is,
			p.Service, by(p.Via))
	default:
		s.Sentence = fmt.Sprintf("%s %s %s waiting for %s%s.", share, of, is, p.Service, by(p.Via))
	}
	s.Named = v == nil || v.Named || p.Service != front
	if v != nil {
		s.Detail = "In " + p.Service + ", " + strings.Replace(v.Sentence, "No cause", "no cause", 1)
		if p.Unread > 0 {
			s.Detail += " That also delays reading the requests."
		}
	}
	if v != nil {
		for _, c := range v.Doubts() {
			s.Caveats = append(s.Caveats, "In "+p.Service+": "+c)
		}
	}
	if v != nil && v.Fix != "" {
		s.Fix = "in " + p.Service + ", " + v.Fix + " See " + v.Causes[0].Guide + "."
	}
}

// endsElsewhere are the causes that last while another thread has no CPU: the other end of the network, or
// one that the world's stop waits for.
var endsElsewhere = []reqtrace.Cause{reqtrace.CauseNetwork, reqtrace.CauseStopped}

// doubt says why the largest part may be large by chance.
func (s *Story) doubt(p *Part) string {
	switch v := p.Verdict; {
	case !s.Enough():
		return fmt.Sprintf("The slowest 1%% are only %s, so trace for longer, or under more load.",
			textfmt.Plural(s.Slow, "request"))
	case s.Slow < enoughSlow && !s.clearly(s.most):
		return fmt.Sprintf("It is most of the extra time in %d of %s, which may be chance. Trace for longer, or under "+
			"more load.", s.most, textfmt.Plural(s.Slow, "request"))
	case s.Slow >= enoughSlow && s.Least < worthShare:
		return fmt.Sprintf("The slowest requests differ, so it may be as little as %s. Trace for longer, or under "+
			"more load.", textfmt.Share(s.Least))
	case p.Excess < machineTakes && (p.Between || !v.Named || v.LikeMachine() ||
		max(v.Causes[0].Share, v.GC.Direct) < worthShare || slices.Contains(endsElsewhere, v.Causes[0].Cause)):
		return fmt.Sprintf("Waits for a CPU can take as long (%s).", textfmt.Duration(p.Excess))
	}
	return p.starved
}

// clearly reports whether n of the slowest requests are more than half of them beyond chance: two
// standard deviations above what a coin gives.
func (s *Story) clearly(n int) bool {
	all := float64(s.Slow)
	return float64(n) >= all/2+2*math.Sqrt(all)/2
}

// Enough reports whether the slowest requests are enough to compare services.
func (s *Story) Enough() bool { return s.clearly(s.Slow) }

// Worth reports whether the slowest requests take enough longer than the median to ask for a cause.
func (s *Story) Worth() bool { return s.Tail-s.Median >= worthTime && s.Tail > worthTimes*s.Median }

// Known reports whether enough of the waits for the network are joined to say what other services take.
func (s *Story) Known() bool { return s.Joined >= likely }

// Figures says how much time it is about, and what of it is known.
func (s *Story) Figures() []string {
	list := []string{fmt.Sprintf("The slowest 1%% take %s on average, the median %s.", textfmt.Duration(s.Tail),
		textfmt.Duration(s.Median))}
	if s.Found > 0 {
		list = append(list, fmt.Sprintf("%s of the waits for the network are joined with what the other service did.",
			textfmt.Share(s.Joined)))
	}
	for _, c := range s.Clocks {
		if c.Offset != 0 {
			list = append(list, fmt.Sprintf("The clock of %s is %s behind that of %s, within %s.", c.Callee,
				textfmt.Duration(c.Offset), c.Caller, textfmt.Duration(c.Within)))
		}
	}
	return list
}

// by names the line that calls, and services on the way.
func by(steps []Step) string {
	if len(steps) == 0 {
		return ""
	}
	t := ""
	for _, s := range steps[1:] {
		t += ", through " + s.Service
	}
	if site := steps[0].Site; site != "" {
		t += ", in " + site
	}
	return t
}
