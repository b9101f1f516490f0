package across

import (
	"cmp"
	"slices"

	"evenkeel.dev/reqtrace"
)

// Fleet is the services whose traces are joined. The zero value has none.
type Fleet struct {
	services []*Service
	calls    map[uint64]known // by id, of the traces so far
}

// known is a call.
type known struct {
	kept bool  // the request that made it
	end  *conn // its connection, or nil
}

// Service is what a trace says about a service. Of the first one only the slowest and the median
// requests are kept, and of the others those that these may have led to.
type Service struct {
	Name   string
	Report *reqtrace.Report

	fleet    *Fleet
	first    bool
	requests []request
	calls    []call  // with ids
	brought  []call  // the requests with ids
	active   []int64 // of the first service's requests: how long each took while the machine did not stand still
	medians  int     // of the first service: how many of its requests, the first ones, are of the median
	store
	conns
}

// Service adds a service. The first one is the one whose requests are explained. Pass the Service's Add
// as reqtrace.Options.Each, and its report to End. Analyse a service before those that it calls, which
// takes least memory.
func (f *Fleet) Service(name string) *Service {
	s := &Service{Name: name, fleet: f, first: len(f.services) == 0}
	f.services = append(f.services, s)
	return s
}

// Add keeps a request that may be part of the story.
func (s *Service) Add(q reqtrace.Request) {
	if s.fleet.calls == nil {
		s.fleet.calls = map[uint64]known{}
	}
	r := request{clock: q.Clock, took: int64(q.Duration()), sent: q.Clock}
	if q.Sent > 0 {
		r.sent -= int64(q.End - q.Sent)
	}
	caller := uint64(0) // none
	if q.Caller != "" {
		caller = number(q.Caller)
	}
	keep := s.first || caller != 0 || q.Conn != 0
	by, joined := s.fleet.calls[caller]
	if joined {
		by.end.join()
		keep = s.first || by.kept
	}
	at := -1
	if keep {
		at = len(s.requests)
		r.spot = s.put(&q)
		s.requests = append(s.requests, r)
		if s.first {
			s.active = append(s.active, r.took-int64(q.Parts.Of(reqtrace.CauseMachine)))
		}
		if caller != 0 {
			x := call{id: caller, request: at, at: r.begin()}
			if q.Answered > 0 {
				x.answered = q.Clock - int64(q.End-q.Answered)
			}
			s.brought = append(s.brought, x)
		}
	}
	s.connect(&q, at, joined)
	for _, c := range q.Calls {
		if c.ID == "" {
			continue
		}
		id := number(c.ID)
		s.fleet.calls[id] = known{s.fleet.calls[id].kept || keep, s.callers[c.Conn]}
		if keep {
			x := call{id: id, request: at, at: q.Clock - int64(q.End-c.Start)}
			if c.End > 0 {
				x.answered = q.Clock - int64(q.End-c.End)
			}
			s.calls = append(s.calls, x)
		}
	}
}

// End takes the report of the requests that were added. A service without one has no part in the story.
func (s *Service) End(r *reqtrace.Report) {
	if s.Report = r; s.first {
		s.prune()
	}
	s.requests, s.calls, s.brought = slices.Clone(s.requests), slices.Clone(s.calls), slices.Clone(s.brought)
	s.clip()
}

// prune leaves the requests of the median, and then the slowest 1% by time.
func (s *Service) prune() {
	order := make([]int, len(s.requests))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(s.active[a], s.active[b]) })
	n := len(order)
	if n == 0 {
		return
	}
	from := min(n*45/100, n-1)
	median, tail := order[from:max(n*55/100, from+1)], order[min(n*99/100, n-1):]
	s.medians = len(median)
	kept := make([]int, n) // index + 1 of the last copy
	old, before := s.requests, s.store
	s.requests, s.chunks, s.active = nil, nil, nil
	for _, i := range slices.Concat(median, tail) {
		q := old[i]
		q.spot = s.copy(before.record(q.spot))
		s.requests = append(s.requests, q)
		kept[i] = len(s.requests)
	}
	s.renumber(kept)
	for _, c := range s.calls {
		s.fleet.keep(c.id, false)
	}
	s.calls, s.brought = renumber(s.calls, kept), renumber(s.brought, kept)
	for _, c := range s.calls { // others may have the same id
		s.fleet.keep(c.id, true)
	}
}

// renumber returns the calls of requests that have new numbers, plus 1.
func renumber(calls []call, kept []int) (left []call) {
	for _, c := range calls {
		if k := kept[c.request]; k > 0 {
			c.request = k - 1
			left = append(left, c)
		}
	}
	return left
}

func (f *Fleet) keep(call uint64, kept bool) { f.calls[call] = known{kept, f.calls[call].end} }
