package reqtrace

import (
	"cmp"
	"math/rand/v2"
)

// A report keeps something of every request, until there are too many:
//
//	requests    1 ............ maxKept ........ 2 maxKept ............. 4 maxKept ...
//	kept        each         │ half of them   │ one in four           │ one in eight
//
// Chance decides which requests are kept, so they have the distribution of all.
//
// Invariant: between two calls of [analysis.keep] at most maxKept requests are kept, and each
// request that was seen is among them with the same chance, one in oneIn. This bounds the memory,
// however long the trace.
const maxKept = 1 << 20

// keep knows which requests an analysis keeps.
type keep struct {
	seen   int // whole requests of those that are asked for
	most   int // that are kept; 0: maxKept
	n      int // that are kept, others than those that are asked for among them
	oneIn  int // 0: each
	chance *rand.Rand
}

// keep keeps a request, if it is its turn: its time, its class, its zone, and its details. These
// are its start, causes and their times, places and theirs, and how many samples it has of which
// places.
func (a *analysis) keep(r *served, m *model) {
	p := a.scratch[:0]
	p.put(int64(r.own()))
	p.put(int64(r.class))
	p = append(p, notAsked)
	if r.other {
		p = append(p, noDetails...)
	} else {
		p.put(int64(r.Start))
		for c, d := range r.Parts.ns {
			if d != 0 && Cause(c) != CauseMachine {
				p.put(int64(c) + 1)
				p.put(int64(d))
			}
		}
		p.put(0)
		p.put(int64(len(r.sites)))
		for i := range r.sites {
			s := &r.sites[i]
			p.put(int64(m.sites.internWait(s.wait, s.longest)))
			p.put(s.time)
		}
		p.put(int64(len(r.samples)))
		for _, s := range r.samples {
			p.put(int64(s.site))
			p.put(int64(s.n))
		}
	}
	a.scratch = p
	k := &a.kept
	if k.oneIn > 1 && k.chance.IntN(k.oneIn) != 0 {
		return
	}
	a.details.keep(p)
	k.n++
	if k.n >= cmp.Or(k.most, maxKept) {
		a.thin()
	}
}

// noDetails are those of a request that is not asked for: no start, no causes, no places, no samples.
var noDetails = packed{0, 0, 0, 0}

// nextRecord reads what is kept of a request but for its details, which follow.
func (p *packed) nextRecord() record { return record{time: p.next(), class: siteID(p.next())} }

// nextZone reads a request's zone.
func (p *packed) nextZone() uint8 {
	zone := (*p)[0]
	*p = (*p)[1:]
	return zone
}

// skipDetails takes a request's details off the front.
func (p *packed) skipDetails() {
	p.next()
	for c := p.next(); c != 0; c = p.next() {
		p.next()
	}
	for range 2 { // places, samples
		for n := p.next(); n > 0; n-- {
			p.next()
			p.next()
		}
	}
}

// records returns the requests that are kept, in the order of their ends.
func (a *analysis) records() []record {
	list := make([]record, 0, a.kept.n)
	for i, c := range a.details {
		for p := c; len(p) > 0; {
			r := p.nextRecord()
			r.details = spotAt(i, len(c)-len(p))
			list = append(list, r)
			p.nextZone()
			p.skipDetails()
		}
	}
	return list
}

// thin drops half of what is kept.
func (a *analysis) thin() {
	k := &a.kept
	if k.oneIn == 0 {
		k.oneIn, k.chance = 1, rand.New(rand.NewPCG(1, 2)) // the same trace has the same report
	}
	k.oneIn *= 2
	all := a.details
	a.details, k.n = nil, 0
	for i, p := range all {
		for len(p) > 0 {
			whole := p
			p.nextRecord()
			p.nextZone()
			p.skipDetails()
			if k.chance.IntN(2) == 0 {
				a.details.keep(whole[:len(whole)-len(p)])
				k.n++
			}
		}
		all[i] = nil
	}
}
