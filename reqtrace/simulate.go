package reqtrace

import (
	"math"
	"slices"
)

// simulation is a replay under way: requests, others and mark workers are served in the order in
// which they become ready, each by the processor that is free first.
type simulation struct {
	p     *replay
	gc    bool
	free  []int64 // when each processor is
	ready []underWay
	times []int64
}

// underWay is a request between two bursts: at is when the next is ready.
type underWay struct {
	at, arrival int64
	next, last  int
}

// simulate returns the requests' times, in order.
func (p *replay) simulate(procs int, gc bool) []int64 {
	s := simulation{p: p, gc: gc, free: make([]int64, procs), times: make([]int64, 0, len(p.requests))}
	lists := [][]job{p.others}
	if gc {
		lists = append(lists, p.markers, p.stops)
	}
	arrivals := p.requests
	for {
		// What is ready first: a job of a list, an arrival, or a request under way.
		first, which := int64(math.MaxInt64), -1
		for i, l := range lists {
			if len(l) > 0 && l[0].at < first {
				first, which = l[0].at, i
			}
		}
		if len(arrivals) > 0 && arrivals[0].arrival < first {
			first, which = arrivals[0].arrival, len(lists)
		}
		if len(s.ready) > 0 && s.ready[0].at <= first {
			first, which = s.ready[0].at, len(lists)+1
		}
		switch {
		case which < 0:
			slices.Sort(s.times)
			return s.times
		case which == len(lists)+1:
			s.burst()
		case which == len(lists):
			r := arrivals[0]
			arrivals = arrivals[1:]
			if r.first < r.last {
				s.push(underWay{at: r.arrival, arrival: r.arrival, next: r.first, last: r.last})
			}
		default:
			j := lists[which][0]
			lists[which] = lists[which][1:]
			if which == 2 {
				s.stop(j)
			} else {
				s.run(j.at, j.ns, j.gc)
			}
		}
	}
}

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

// burst takes the request that is ready first through its next burst.
func (s *simulation) burst() {
	u := s.ready[0]
	c := cursor{s.p.bursts, u.next}
	cpu, gc, wait, waitGC := c.next(), c.next(), c.next(), c.next()
	end := s.run(u.at, cpu, gc) + wait
	if s.gc {
		end += waitGC
	}
	if c.at < u.last {
		u.at, u.next = end, c.at
		s.ready[0] = u
		s.down(0)
		return
	}
	s.times = append(s.times, end-u.arrival)
	n := len(s.ready) - 1
	s.ready[0] = s.ready[n]
	s.ready = s.ready[:n]
	s.down(0)
}

// push and down keep ready a heap: container/heap would allocate for each of millions.
func (s *simulation) push(u underWay) {
	s.ready = append(s.ready, u)
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
