package reqtrace

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
)

// An analysis keeps something of each request, until there are too many:
//
//	requests    1 ............ maxKept ........ 2 maxKept ............. 4 maxKept ...
//	kept        each         │ half of them   │ one in four           │ one in eight
//
// Each request is kept with the same chance.
const maxKept = 1 << 20

type keep struct {
	seen   int // whole requests of Options.Class
	most   int // how many are kept; 0: maxKept
	oneIn  int // 0: each
	chance *rand.Rand
}

type record struct {
	time    int64
	class   siteID
	details spot
}

// details has nothing of a request that Options.Class leaves out.
type details struct {
	start   int64
	parts   [numCauses]int64 // without CauseMachine
	waits   []spent
	samples []sampled
}

func (a *analysis) keep(r *served, m *model) {
	d := &a.scratch
	*d = details{waits: d.waits[:0], samples: d.samples[:0]}
	if !r.other {
		d.start = int64(r.Start)
		for c, ns := range r.Parts.ns {
			d.parts[c] = int64(ns)
		}
		d.parts[CauseMachine] = 0
		for i := range r.sites {
			s := &r.sites[i]
			d.waits = append(d.waits, spent{m.sites.internWait(s.wait, s.longest), s.time})
		}
		d.samples = append(d.samples, r.samples...)
	}
	k := &a.kept
	if k.oneIn > 1 && k.chance.IntN(k.oneIn) != 0 {
		return
	}
	a.requests = append(a.requests, record{int64(r.own()), r.class, a.details.put(d)})
	if len(a.requests) >= cmp.Or(k.most, maxKept) {
		a.thin()
	}
}

func (a *analysis) thin() {
	k := &a.kept
	if k.oneIn == 0 {
		k.oneIn, k.chance = 1, rand.New(rand.NewPCG(1, 2)) // the same trace has the same report
	}
	k.oneIn *= 2
	all, from := a.requests, a.details
	a.requests, a.details = nil, nil
	for _, r := range all {
		if k.chance.IntN(2) == 0 {
			r.details = a.details.put(from.at(r.details, &a.scratch))
			a.requests = append(a.requests, r)
		}
	}
}

func (a *analysis) detailsOf(r *record) *details { return a.details.at(r.details, &a.scratch) }

const chunkSize = 64 << 10 // bytes

type store []packed

// spot is the number of a chunk, and 16 bits for the offset in it.
type spot uint32

type packed []byte

func (p *packed) put(ns int64) { *p = binary.AppendUvarint(*p, uint64(max(ns, 0))) }

func (p *packed) next() int64 {
	v, n := binary.Uvarint(*p)
	*p = (*p)[n:]
	return int64(v)
}

func (s *store) put(d *details) spot {
	const longest = binary.MaxVarintLen64
	most := longest * (3 + 2*(int(numCauses)+len(d.waits)+len(d.samples)))
	n := len(*s)
	if n == 0 || chunkSize-len((*s)[n-1]) < most {
		*s = append(*s, make(packed, 0, max(chunkSize, most)))
		n++
	}
	p := &(*s)[n-1]
	at := spot(n-1)<<16 | spot(len(*p))
	p.put(d.start)
	for c, ns := range d.parts {
		if ns != 0 {
			p.put(int64(c) + 1)
			p.put(ns)
		}
	}
	p.put(0)
	p.put(int64(len(d.waits)))
	for _, w := range d.waits {
		p.put(int64(w.wait))
		p.put(w.ns)
	}
	p.put(int64(len(d.samples)))
	for _, q := range d.samples {
		p.put(int64(q.site))
		p.put(int64(q.n))
	}
	return at
}

func (s store) at(x spot, d *details) *details {
	p := s[x>>16][x&(1<<16-1):]
	*d = details{start: p.next(), waits: d.waits[:0], samples: d.samples[:0]}
	for c := p.next(); c != 0; c = p.next() {
		d.parts[c-1] = p.next()
	}
	for n := p.next(); n > 0; n-- {
		d.waits = append(d.waits, spent{waitID(p.next()), p.next()})
	}
	for n := p.next(); n > 0; n-- {
		d.samples = append(d.samples, sampled{siteID(p.next()), int(p.next())})
	}
	return d
}
