package reqtrace

import (
	"cmp"
	"math"
	"slices"
)

// A replay goes from one thing that is ready to the next, in order of time:
//
//	arrivals ──> a request's first burst ──┐      ┌─> done: its time is kept
//	others   ──> a job                     ├──> the processor that is free first ──┤
//	markers  ──> a mark worker's stretch   │      └─> ready again, when its wait is over
//	stops    ──> all processors at once  ──┘
//
// Invariants: no processor's free moves back; what is ready at a time is served before what is ready
// later (so a burst that waits for a processor keeps its place); without the collector nothing of
// gc, waitGC, markers and stops is added. The cost is O(log n) a burst, for n requests under way.

// simulation is a replay under way: requests, others and mark workers are served in the order in
// which they become ready, each by the processor that is free first.
type simulation struct {
	gc    bool
	free  []int64 // when each processor is
	ready []ready // a heap: requests under way, between two bursts
	slots []underWay
	empty []int32 // of slots
	simulated
}

// simulated is what a replay found.
type simulated struct {
	times  []int64 // of the requests, in order
	spread spread  // of the same
}

// ready is when the next burst of a request is ready.
type ready struct {
	at   int64
	slot int32
}

// underWay is a request that has arrived.
type underWay struct {
	arrival int64
	leftOut bool
	rest    packed // its bursts
}

// simulate replays the requests.
func (p *replay) simulate(procs int, gc bool) *simulated {
	s := simulation{gc: gc, free: make([]int64, procs), simulated: simulated{make([]int64, 0, len(p.requests)), p.newSpread()}}
	var lists [2][]job
	if gc {
		lists = [2][]job{p.markers, p.stops}
	}
	arrivals := p.arrivals(gc)
	others := jobs{rest: p.others}
	other, more := others.next()
	for {
		// What is ready first: a job, an arrival, or a request under way.
		first, which := int64(math.MaxInt64), nothing
		if more {
			first, which = other.at, anOther
		}
		for i, l := range lists {
			if len(l) > 0 && l[0].at < first {
				first, which = l[0].at, aMarker+i
			}
		}
		if len(arrivals) > 0 && arrivals[0].arrival < first {
			first, which = arrivals[0].arrival, anArrival
		}
		if len(s.ready) > 0 && s.ready[0].at <= first {
			which = aRequest
		}
		switch which {
		case nothing:
			slices.Sort(s.times)
			return &s.simulated
		case aRequest:
			s.burst()
		case anArrival:
			s.arrive(first, p.bursts.at(arrivals[0].first))
			arrivals = arrivals[1:]
		case anOther:
			s.run(other.at, other.ns, other.gc)
			other, more = others.next()
		case aMarker:
			s.run(first, lists[0][0].ns, 0)
			lists[0] = lists[0][1:]
		case aStop:
			s.stop(lists[1][0])
			lists[1] = lists[1][1:]
		}
	}
}

// What may be ready first.
const (
	nothing = iota
	anOther
	aMarker
	aStop
	anArrival
	aRequest
)

// run gives a processor to what is ready at at, and returns when it has ended.
func (s *simulation) run(at, ns, gc int64) int64 {
	if s.gc {
		ns += gc
	}
	if ns == 0 {
		return at
	}
	first := 0
	for i := range s.free {
		if s.free[i] < s.free[first] {
			first = i
		}
	}
	s.free[first] = max(s.free[first], at) + ns
	return s.free[first]
}

// stop stops all processors.
func (s *simulation) stop(j job) {
	for i := range s.free {
		s.free[i] = max(s.free[i], j.at) + j.ns
	}
}

// burst takes the request that is ready first through its next burst, or out where it has none.
func (s *simulation) burst() {
	next := &s.ready[0]
	u := &s.slots[next.slot]
	b, more := u.rest.nextBurst()
	if !more {
		if next.at > u.arrival && !u.leftOut { // a request without a burst never was
			s.times = append(s.times, next.at-u.arrival)
			s.spread.add(u.arrival, next.at-u.arrival)
		}
		s.empty = append(s.empty, next.slot)
		n := len(s.ready) - 1
		s.ready[0] = s.ready[n]
		s.ready = s.ready[:n]
		s.down(0)
		return
	}
	next.at = s.run(next.at, b.cpu, b.gc) + b.wait
	if s.gc {
		next.at += b.waitGC
	}
	s.down(0)
}

// arrive adds a request, which is ready at once.
func (s *simulation) arrive(at int64, bursts packed) {
	leftOut := bursts.next()&1 != 0
	bursts.next() // what it took
	u := underWay{at, leftOut, bursts}
	slot := int32(len(s.slots))
	if n := len(s.empty); n > 0 {
		slot = s.empty[n-1]
		s.empty = s.empty[:n-1]
		s.slots[slot] = u
	} else {
		s.slots = append(s.slots, u)
	}
	s.push(ready{u.arrival, slot})
}

// push and down keep ready a heap: container/heap would allocate for each of millions.
func (s *simulation) push(r ready) {
	s.ready = append(s.ready, r)
	for i := len(s.ready) - 1; i > 0; {
		parent := (i - 1) / 2
		if s.ready[parent].at <= s.ready[i].at {
			return
		}
		s.ready[parent], s.ready[i] = s.ready[i], s.ready[parent]
		i = parent
	}
}

func (s *simulation) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(s.ready) {
			return
		}
		if child+1 < len(s.ready) && s.ready[child+1].at < s.ready[child].at {
			child++
		}
		if s.ready[i].at <= s.ready[child].at {
			return
		}
		s.ready[i], s.ready[child] = s.ready[child], s.ready[i]
		i = child
	}
}

// run replays what was recorded, with the collector and without.
func (p *replay) run(spans []Span, origin int64, procs int) (with, without *simulated) {
	for _, s := range spans {
		if s.Stopped {
			p.stops = append(p.stops, job{at: int64(s.Start) + origin, ns: int64(s.End - s.Start)})
		}
	}
	byTime := func(a, b job) int { return cmp.Compare(a.at, b.at) }
	slices.SortFunc(p.markers, byTime)
	p.recorded()
	done := make(chan *simulated)
	go func() { done <- p.simulate(max(procs, 1), false) }()
	with = p.simulate(max(procs, 1), true)
	return with, <-done
}
