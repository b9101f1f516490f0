package reqtrace

import (
	"math"
	"slices"
)

// Bands of a report are requests from one quantile to another, and overlap. So that each request is
// looked at once for all of them, it belongs to a zone, which lies between two neighbouring edges
// of bands:
//
//	requests by time   0 ......... 45% .. 50% .. 55% ...... 90% ...... 99% .... 99.9% ...
//	zones              ├───── 0 ────┼─ 1 ──┼─ 2 ──┼──── 3 ───┼─── 4 ────┼─── 5 ───┼── 6 ──┤
//	bands              ├─────── p0-50 ─────┼───── p50-90 ────┼─ p90-99 ─┼───── p99+ ──────┤
//
// A request's zone is noted beside its details. These are then read as they lie in memory, which
// takes a fraction of what looking them up in the order of times does.
//
// Invariant: of a request that is not asked for, the zone is notAsked; of all others it is in zones.of.
type zones struct {
	a     *analysis
	edges []int // indexes of the requests that zones begin with, then how many there are
	slow  uint8 // from this zone on requests are of the slowest 1%
	of    []zone
}

// zone is what its requests took together.
type zone struct {
	parts   [numCauses]int64
	waits   []sums // by their numbers
	samples map[siteID]int
}

// notAsked is the zone of requests that are not asked for, and of all until there are zones.
const notAsked = 255

// edges returns the indexes of the first request of a band and of the first behind it. The slowest
// request is in the last band, and one is in the middle, however few there are.
func (a *analysis) edges(from, to float64) (i, j int) {
	n := float64(len(a.requests))
	i, j = int(math.Floor(from*n)), int(math.Floor(to*n))
	if j <= i && (to == 1 || from == medianFrom) {
		i = min(i, len(a.requests)-1)
		j = i + 1
	}
	return i, j
}

// zones sums the requests up by zones, and has x take note of the places of each class.
func (a *analysis) zones(m *model, x *blocker) *zones {
	z := &zones{a: a}
	add := func(from, to float64) {
		i, j := a.edges(from, to)
		z.edges = append(z.edges, i, j)
	}
	add(medianFrom, medianTo)
	for _, b := range bandNames {
		add(b.from, 1)
	}
	slices.Sort(z.edges)
	z.edges = slices.Compact(z.edges)
	slow, _ := a.edges(.99, 1)
	z.slow = uint8(z.at(slow))
	z.of = make([]zone, len(z.edges)-1)
	for i := range z.of {
		z.of[i].waits, z.of[i].samples = make([]sums, len(m.sites.waits)), map[siteID]int{}
		for _, r := range a.requests[z.edges[i]:z.edges[i+1]] {
			a.details.at(r.details)[0] = byte(i)
		}
	}
	for _, p := range a.details {
		for len(p) > 0 {
			r := p.nextRecord()
			i := p.nextZone()
			if i == notAsked {
				p.skipDetails()
				continue
			}
			z.of[i].take(&p, r.class, i >= z.slow, x)
		}
	}
	return z
}

// take adds a request, whose details it takes off p.
func (z *zone) take(p *packed, class siteID, slow bool, x *blocker) {
	p.next() // when it began
	for c := p.next(); c != 0; c = p.next() {
		z.parts[c-1] += p.next()
	}
	for n := p.next(); n > 0; n-- {
		id := waitID(p.next())
		ns := p.next()
		z.waits[id].add(ns, slow)
		x.took(class, id, ns, slow)
	}
	for n := p.next(); n > 0; n-- {
		s := siteID(p.next())
		z.samples[s] += int(p.next())
	}
}

// at returns the number of the zone that begins with a request.
func (z *zones) at(request int) int {
	i, _ := slices.BinarySearch(z.edges, request)
	return i
}

// band takes the requests from one quantile to another together.
func (z *zones) band(m *model, name string, from, to float64) Band {
	i, j := z.a.edges(from, to)
	if j <= i {
		return Band{Name: name}
	}
	var sum int64
	for k := range z.a.requests[i:j] {
		sum += z.a.requests[i+k].time
	}
	all := zone{waits: make([]sums, len(m.sites.waits)), samples: map[siteID]int{}}
	for _, q := range z.of[z.at(i):z.at(j)] {
		for c, ns := range q.parts {
			all.parts[c] += ns
		}
		for id, w := range q.waits {
			if w.some {
				all.waits[id].add(w.all, false)
			}
		}
		for s, n := range q.samples {
			all.samples[s] += n
		}
	}
	n, slowest := int64(j-i), z.a.requests[j-1].time
	b := Band{
		Name: name, Requests: (j - i) * max(z.a.kept.oneIn, 1), Min: dur(z.a.requests[i].time), Max: dur(slowest),
		Mean: dur(sum / n),
	}
	for c, ns := range all.parts {
		b.Parts.ns[c] = dur(ns / n)
		b.Excess.ns[c] = b.Parts.ns[c] - z.a.report.Median.Parts.ns[c]
	}
	b.Sites = m.sites.blames(all.waits, n, slowest)
	b.Samples = m.sites.samples(all.samples)
	return b
}
