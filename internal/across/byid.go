package across

import (
	"cmp"
	"slices"

	"evenkeel.dev/reqtrace"
)

// A call has an id in its caller's trace, and the request that it became has the same id in the trace
// of the other service:
//
//	shop     ├── request ── call 7f.. ─┤ waits                                │ goes on ──┤
//	                        │ at       │                                      │
//	prices                     between   ├── request of 7f.. ───────┤ between
//	                                     from                       to
//
// In the caller's wait, the time from from to to is what prices did, which may wait for others again.

// ref is a request of a service.
type ref struct{ service, request int }

// call is a call of a request, or the one that brought it. Its times are of the service's clock.
type call struct {
	id       uint64
	request  int
	at       int64 // when it began, or the request did
	answered int64 // when the header of the answer was there, or written; 0: not known
}

// link is a call whose request was found. Times are of the caller's clock.
type link struct {
	caller, callee ref
	at, from, to   int64
	ordered        bool // connections joined it
	likely         bool // the evidence is thin
}

type joiner struct {
	services []*Service
	clocks   map[[2]int]*clock // of caller and callee
	links    []link            // by the caller and time
	unmarked int               // calls

	tiles   []reqtrace.Tile // of the request that add has at hand
	entries []entry
}

type end struct {
	ref
	call
}

func newJoiner(services []*Service) *joiner {
	j := &joiner{services: services, clocks: map[[2]int]*clock{}}
	var calls, callees []end
	for k, s := range services {
		for _, c := range s.calls {
			calls = append(calls, end{ref{k, c.request}, c})
		}
		for _, c := range s.brought {
			callees = append(callees, end{ref{k, c.request}, c})
		}
	}
	// A call and a request that share their id with no others tell how the clocks differ.
	eachID(calls, callees, func(c, r []end) {
		if len(c) == 1 && len(r) == 1 && c[0].service != r[0].service {
			until, sent := j.request(c[0].ref).clock, j.request(r[0].ref).sent
			if c[0].answered > 0 && r[0].answered > 0 {
				until, sent = c[0].answered, r[0].answered
			}
			j.clock(c[0].service, r[0].service).add(c[0].at, until, r[0].at, sent)
		}
	})
	for key, c := range j.clocks {
		c.decide(j.wallOffset(key[0], key[1]))
	}
	eachID(calls, callees, j.pair)
	j.sortLinks()
	j.connections()
	return j
}

func (j *joiner) sortLinks() {
	slices.SortFunc(j.links, func(a, b link) int { return cmp.Or(a.caller.compare(b.caller), cmp.Compare(a.at, b.at)) })
}

// eachID calls f with the calls and the requests of each id, by time.
func eachID(calls, callees []end, f func(calls, callees []end)) {
	order := func(a, b end) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.at, b.at)) }
	slices.SortFunc(calls, order)
	slices.SortFunc(callees, order)
	for len(calls) > 0 && len(callees) > 0 {
		id := max(calls[0].id, callees[0].id)
		var c, r []end
		c, calls = split(calls, id)
		r, callees = split(callees, id)
		if len(c) > 0 && len(r) > 0 {
			f(c, r)
		}
	}
}

// split returns those of an id, and those after it.
func split(list []end, id uint64) (of, after []end) {
	i := 0
	for i < len(list) && list[i].id < id {
		i++
	}
	n := i
	for n < len(list) && list[n].id == id {
		n++
	}
	return list[i:n], list[n:]
}

func (r ref) compare(o ref) int {
	return cmp.Or(cmp.Compare(r.service, o.service), cmp.Compare(r.request, o.request))
}

func (j *joiner) request(r ref) *request { return &j.services[r.service].requests[r.request] }

// of returns the calls of a request.
func (j *joiner) of(r ref) []link {
	i, _ := slices.BinarySearchFunc(j.links, r, func(l link, r ref) int { return l.caller.compare(r) })
	n := i
	for n < len(j.links) && j.links[n].caller == r {
		n++
	}
	return j.links[i:n]
}

func (j *joiner) clock(caller, callee int) *clock {
	key := [2]int{caller, callee}
	if j.clocks[key] == nil {
		j.clocks[key] = &clock{windows: map[int64]*bounds{}}
	}
	return j.clocks[key]
}

// maxSame is how many calls or requests may have one id. With more it says too little.
const maxSame = 256

// pair gives each call the first request after it that no other call has. There are several of an id
// if a call is tried again, or if services pass on a header that they do not change.
func (j *joiner) pair(calls, callees []end) {
	if max(len(calls), len(callees)) > maxSame {
		return
	}
	taken := make([]bool, len(callees))
	other := func(r end) bool { return r.service != callees[0].service }
	crossed := several(calls) && slices.ContainsFunc(callees, other)
	for _, c := range calls {
		best, at := -1, link{}
		for i, r := range callees {
			if taken[i] || r.service == c.service {
				continue
			}
			off := j.clock(c.service, r.service).offset(c.at)
			from, to := r.at+off, j.request(r.ref).sent+off
			if from < c.at-slack || best >= 0 && from >= at.from {
				continue
			}
			best, at = i, link{c.ref, r.ref, c.at, max(from, c.at), max(to, c.at), false, crossed}
		}
		if best >= 0 {
			taken[best] = true
			j.links = append(j.links, at)
		}
	}
}

// several reports whether one service makes more than one of the calls. If these go to different
// services, an id does not say which went where.
func several(calls []end) bool {
	by := map[int]bool{}
	return slices.ContainsFunc(calls, func(c end) bool {
		again := by[c.service]
		by[c.service] = true
		return again
	})
}

const (
	// slack is how much a request may begin before its call, because clocks are compared.
	slack = int64(200_000) // ns
	late  = int64(1_000_000)
)
