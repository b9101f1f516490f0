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
	calls    []call
	medians  int // of the first service: how many of its requests, the first ones, are of the median
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
	r := request{
		clock: q.Clock, took: int64(q.Duration()), machine: int64(q.Parts.Of(reqtrace.CauseMachine)), sent: q.Clock,
	}
	if q.Sent > 0 {
		r.sent -= int64(q.End - q.Sent)
	}
	if q.Answered > 0 {
		r.first = q.Clock - int64(q.End-q.Answered)
	}
	if q.Caller != "" {
		r.caller = number(q.Caller)
	}
	keep := s.first || r.caller != 0 || q.Conn != 0
	by, joined := s.fleet.calls[r.caller]
	if joined {
		by.end.join()
		keep = s.first || by.kept
	}
	at := -1
	if keep {
		at = len(s.requests)
		r.spot = s.put(&q)
		s.requests = append(s.requests, r)
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
}

// prune leaves the requests of the median, and then the slowest 1% by time.
func (s *Service) prune() {
	order := make([]int, len(s.requests))
	for i := range order {
		order[i] = i
	}
	took := func(i int) int64 { return s.requests[i].took - s.requests[i].machine }
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(took(a), took(b)) })
	n := len(order)
	if n == 0 {
		return
	}
	from := min(n*45/100, n-1)
	median, tail := order[from:max(n*55/100, from+1)], order[min(n*99/100, n-1):]
	s.medians = len(median)
	kept := make([]int, n) // index + 1 of the last copy
	old, before := s.requests, s.store
	s.requests, s.chunks = nil, nil
	for _, i := range slices.Concat(median, tail) {
		q := old[i]
		q.spot = s.copy(before.record(q.spot))
		s.requests = append(s.requests, q)
		kept[i] = len(s.requests)
	}
	s.renumber(kept)
	calls := s.calls
	s.calls = nil
	for _, c := range calls {
		s.fleet.keep(c.id, false)
		if k := kept[c.request]; k > 0 {
			c.request = k - 1
			s.calls = append(s.calls, c)
		}
	}
	for _, c := range s.calls { // others may have the same id
		s.fleet.keep(c.id, true)
	}
}

func (f *Fleet) keep(call uint64, kept bool) { f.calls[call] = known{kept, f.calls[call].end} }
