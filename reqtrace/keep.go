package reqtrace

import (
	"math/rand/v2"
	"slices"
)

// A report keeps something of every request, until there are too many:
//
//	requests    1 ............ maxKept ........ 2 maxKept ............. 4 maxKept ...
//	kept        each         │ half of them   │ one in four           │ one in eight
//	replayed    each         │ none of these  │                       │
//
// Which ones are kept is a matter of chance, so their distribution is that of all. A replay needs all requests of its
// time, for each is in the others' way: so it is of the trace's beginning, as far as it is kept whole.
//
// Invariant: between two calls of [analysis.keep] at most maxKept requests are kept, and each request that was seen is among
// them with the same chance, one in oneIn. With maxReplay this bounds the memory: about 250 MB, however long the trace.
const (
	maxKept   = 1 << 20
	maxReplay = 96 << 20 // bytes that a replay's record takes
)

// keep knows which requests an analysis keeps.
type keep struct {
	seen   int // whole requests of those that are asked for
	oneIn  int // 0: each, and the replay is still recorded
	chance *rand.Rand
	replay *replay // the record, once it is closed
	spans  []Span  // of the collector until then
	times  []int64 // of the requests until then, in order; nil: of all that are kept
}

// keep keeps a request whose details are in a.scratch, if it is its turn.
func (a *analysis) keep(r record, m *model) {
	k := &a.kept
	if k.oneIn > 1 && k.chance.IntN(k.oneIn) != 0 {
		return
	}
	r.details = a.details.keep(a.scratch)
	a.adding.add(r)
	if m.replay != nil && (a.adding.n >= maxKept || m.replay.size() >= maxReplay) {
		a.closeReplay(m)
	}
	if a.adding.n >= maxKept {
		a.thin()
	}
}

// closeReplay ends the recording for a replay: the rest of the trace is analyzed without.
func (a *analysis) closeReplay(m *model) {
	k := &a.kept
	k.replay, k.spans = m.replay, slices.Clone(m.gc)
	m.replay, m.turns.blamer.replay = nil, nil
	for _, c := range a.adding.chunks {
		k.times = append(k.times, timesOf(c)...)
	}
	slices.Sort(k.times)
}

// thin drops half of what is kept.
func (a *analysis) thin() {
	k := &a.kept
	if k.oneIn == 0 {
		k.oneIn, k.chance = 1, rand.New(rand.NewPCG(1, 2)) // the same trace has the same report
	}
	k.oneIn *= 2
	records, details := a.adding, a.details
	a.adding, a.details = list[record]{}, nil
	for i, c := range records.chunks {
		for _, r := range c {
			if k.chance.IntN(2) == 0 {
				r.details = a.details.keep(packedDetails(details.at(r.details)))
				a.adding.add(r)
			}
		}
		records.chunks[i] = nil
	}
}

// packedDetails returns of p, which begins with a request's details, no more than those.
func packedDetails(p packed) packed {
	rest := p
	rest.next()
	for c := rest.next(); c != 0; c = rest.next() {
		rest.next()
	}
	for n := rest.next(); n > 0; n-- {
		rest.next()
		rest.next()
	}
	for n := rest.next(); n > 0; n-- {
		rest.next()
		rest.next()
	}
	return p[:len(p)-len(rest)]
}

// noDetails are those of a request that has none: no start, no causes, no places, no samples.
var noDetails = packed{0, 0, 0, 0}

// timesOf returns the times of the requests that are asked for.
func timesOf(records []record) []int64 {
	times := make([]int64, 0, len(records))
	for _, r := range records {
		if !r.other {
			times = append(times, r.time)
		}
	}
	return times
}

// size returns how many bytes the record takes, about.
func (p *replay) size() int {
	const job, request = 24, 16
	return (len(p.bursts)+len(p.others))*chunkSize + len(p.markers)*job + p.adding.n*request
}
