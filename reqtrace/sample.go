package reqtrace

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"golang.org/x/exp/trace"
)

// EnoughSamples is how many samples of running a band needs, for its functions to be worth a list:
// with so many, a function that has all of them has at least 56% of the time, at 95% confidence,
// and with fewer one that has none may have half of it. Whether a function is much of the time, its
// interval says: 18 of 19 are 75% or more, 10 of 19 are 31 to 73%.
const EnoughSamples = 5

// Sample is a function that requests were running in, by the samples of a CPU profile which was taken during the trace.
type Sample struct {
	Site    string  `json:"site"`              // function (file:line): the program's innermost
	Handler string  `json:"handler,omitempty"` // function (file:line) of the request's handler, where Site is another
	Count   int     `json:"count"`
	Share   float64 `json:"share"` // of the band's samples, 0 to 1
	Low     float64 `json:"low"`   // interval of Share, at 95% confidence
	High    float64 `json:"high"`
}

// stackSample is one of a goroutine.
type stackSample struct {
	at   int64
	site siteID
}

// sampled is samples at a place.
type sampled struct {
	site siteID
	n    int
}

// sample takes note of a sample of a CPU profile. One without a goroutine is the scheduler's own, or C's.
func (m *model) sample(e *trace.Event, t int64) {
	m.samples++
	m.turns.blamer.profiled = m.kernel == nil || len(m.kernel.waits) == 0
	if e.Goroutine() == trace.NoGoroutine {
		return
	}
	g := m.goroutine(int64(e.Goroutine()))
	info := m.sites.look(g, e.Stack())
	if info.foreign { // else it may be a router that is sampled, before it has called a handler
		g.classify(info) // a request that only runs has no event with its handler's stack
	}
	g.samples = append(g.samples, stackSample{t, info.site})
}

// sample adds the samples of g from a to b, during which it ran for the request. A preemption
// counts as a sample too, because the scheduler preempts a goroutine that runs for longer than 10
// ms.
func (x *blamer) sample(g *goroutine, a, b int64) {
	x.samples = countIn(x.samples, g.samples, a, b)
	x.ran = countIn(countIn(x.ran, g.samples, a, b), g.stops, a, b)
}

// countIn adds to the count of each place the samples there from a to b.
func countIn(at []sampled, list []stackSample, a, b int64) []sampled {
	if len(list) == 0 {
		return at
	}
	i := sort.Search(len(list), func(i int) bool { return list[i].at >= a })
next:
	for ; i < len(list) && list[i].at < b; i++ {
		for j := range at {
			if s := &at[j]; s.site == list[i].site {
				s.n++
				continue next
			}
		}
		at = append(at, sampled{list[i].site, 1})
	}
	return at
}

// mostSampled returns the place with the most samples, the first of equal ones. 0: there are none.
func mostSampled(at []sampled) (site siteID) {
	n := 0
	for _, s := range at {
		if s.site != 0 && s.n > n {
			site, n = s.site, s.n
		}
	}
	return site
}

// holding says how long the holders that let go at a place ran, by the trace, and how many samples
// a CPU profile took of them in that time.
type holding struct {
	until   int64 // earlier time is counted already: several requests wait for one holder
	ran     int64
	samples int
}

// held records that g, which let go at a place afterwards, ran from a to b.
func (s *sites) held(at siteID, g *goroutine, a, b int64) {
	h := s.holds[at]
	if h == nil {
		h = &holding{}
		s.holds[at] = h
	}
	if a = max(a, h.until); a >= b {
		return
	}
	h.until = b
	h.ran += b - a
	for i := range g.samples {
		if t := g.samples[i].at; t >= a && t < b {
			h.samples++
		}
	}
}

const samplePeriod = 10 * time.Millisecond // of a CPU profile (runtime/pprof)

// descheduled reports whether the holders were off their CPUs for more than half of the time that
// they seem to have run. It takes as many samples as two standard deviations allow, and finds them
// too few for half of that time.
func (h *holding) descheduled() bool {
	if h == nil {
		return false
	}
	n := float64(h.samples)
	return 2*float64(samplePeriod)*(n+2*math.Sqrt(n+1)) < float64(h.ran)
}

// samples returns what users see of samples at places. Places of a function are one, at the line that has most.
func (s *sites) samples(at map[siteID]int) (list []Sample) {
	type function struct{ name, handler string }
	of, most, all := map[function]*Sample{}, map[function]int{}, 0
	for id, n := range at {
		all += n
		p := &s.places[id]
		f := function{functionOf(p.site), p.handler}
		if of[f] == nil {
			of[f] = &Sample{Handler: p.handler}
		}
		if of[f].Count += n; n > most[f] || n == most[f] && p.site < of[f].Site {
			most[f], of[f].Site = n, p.site
		}
	}
	for _, x := range of {
		x.Share = float64(x.Count) / float64(all)
		x.Low, x.High = wilson(x.Count, all)
		list = append(list, *x)
	}
	slices.SortFunc(list, func(a, b Sample) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Site, b.Site), cmp.Compare(a.Handler, b.Handler))
	})
	return list[:min(len(list), 16)]
}

// functionOf drops the file and line of a place.
func functionOf(site string) string {
	f, _, _ := strings.Cut(site, " (")
	return f
}

// wilson returns the interval of a share, n of all, at 95% confidence: the score interval (E. B.
// Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22, 1927),
// which holds for few samples and for shares near 0 and 1, too. It takes samples as independent;
// those of one long request are not quite.
func wilson(n, all int) (low, high float64) {
	const z = 1.96
	if all == 0 {
		return 0, 1
	}
	p, m := float64(n)/float64(all), float64(all)
	middle := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return max(0, middle-half), min(1, middle+half)
}
