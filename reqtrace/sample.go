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

// Sample is a function that requests were running in, by a CPU profile.
type Sample struct {
	Site    string  `json:"site"` // as in [Blame]
	Handler string  `json:"handler,omitempty"`
	Count   int     `json:"count"`
	Share   float64 `json:"share"` // of the band's samples, from 0 to 1
	Low     float64 `json:"low"`   // of Share, at 95% confidence
	High    float64 `json:"high"`
}

type stackSample struct {
	at   int64
	site siteID
}

type sampled struct {
	site siteID
	n    int
}

// A sample without a goroutine is the scheduler's or C's.
func (m *model) sample(e *trace.Event, t int64) {
	m.samples++
	m.turns.blamer.profiled = len(m.kernel.waits) == 0
	if e.Goroutine() == trace.NoGoroutine {
		return
	}
	g := m.goroutine(int64(e.Goroutine()))
	info := m.sites.look(g, e.Stack())
	if info.foreign { // otherwise it may be a router
		g.classify(info) // a request that only runs has no other event
	}
	g.samples = append(g.samples, stackSample{t, info.site})
}

// A preemption counts as a sample.
func (x *blamer) sample(g *goroutine, a, b int64) {
	x.samples = countIn(x.samples, g.samples, a, b)
	x.ran = countIn(countIn(x.ran, g.samples, a, b), g.stops, a, b)
}

func countIn(at []sampled, list []stackSample, a, b int64) []sampled {
	if len(list) == 0 {
		return at
	}
	i := sort.Search(len(list), func(i int) bool { return list[i].at >= a })
	for ; i < len(list) && list[i].at < b; i++ {
		j := slices.IndexFunc(at, func(s sampled) bool { return s.site == list[i].site })
		if j < 0 {
			j, at = len(at), append(at, sampled{site: list[i].site})
		}
		at[j].n++
	}
	return at
}

func mostSampled(at []sampled) (site siteID) {
	n := 0
	for _, s := range at {
		if s.site != 0 && s.n > n {
			site, n = s.site, s.n
		}
	}
	return site
}

// holding is the time and the samples of the holders that released at a place.
type holding struct {
	until   int64
	ran     int64
	samples int
}

func (s *sites) noteHolder(at siteID, g *goroutine, a, b int64) {
	h := s.holds[at]
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
	s.holds[at] = h
}

const samplePeriod = 10 * time.Millisecond

// descheduled holds for more than half of the time, within two standard deviations.
func (h holding) descheduled() bool {
	n := float64(h.samples)
	return 2*float64(samplePeriod)*(n+2*math.Sqrt(n+1)) < float64(h.ran)
}

func (s *sites) samples(at map[siteID]int) (list []Sample) {
	type function struct{ name, handler string }
	of, most, all := map[function]*Sample{}, map[function]int{}, 0
	for id, n := range at {
		all += n
		p := &s.places[id]
		name, _, _ := strings.Cut(p.site, " (")
		f := function{name, p.handler}
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

// 95% confidence (E. B. Wilson, JASA 22, 1927)
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
