package across

import (
	"cmp"
	"slices"
	"time"

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

// call is a call of a request. Its times are of the service's clock.
type call struct {
	id       uint64
	request  int
	at       int64
	answered int64 // when the header of the answer was there; 0: not known
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
	id       uint64
	at       int64
	answered int64 // of a call
}

func newJoiner(services []*Service) *joiner {
	j := &joiner{services: services, clocks: map[[2]int]*clock{}}
	var calls, callees []end
	for k, s := range services {
		for _, c := range s.calls {
			calls = append(calls, end{ref{k, c.request}, c.id, c.at, c.answered})
		}
		for i := range s.requests {
			if q := &s.requests[i]; q.caller != 0 {
				callees = append(callees, end{ref{k, i}, q.caller, q.begin(), 0})
			}
		}
	}
	// A call and a request that share their id with no others tell how the clocks differ.
	eachID(calls, callees, func(c, r []end) {
		if len(c) == 1 && len(r) == 1 && c[0].service != r[0].service {
			until, sent := j.request(c[0].ref).clock, j.request(r[0].ref).sent
			if first := j.request(r[0].ref).first; c[0].answered > 0 && first > 0 {
				until, sent = c[0].answered, first
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

func waits(c reqtrace.Cause) bool {
	switch c {
	case reqtrace.CauseNetwork, reqtrace.CauseChannel, reqtrace.CauseLock, reqtrace.CauseSleep:
		return true
	}
	return false
}

// what is where a time went.
type what struct {
	service int
	between bool   // on the way to it or back
	blame   uint64 // of the service's store
}

// spent is a sum of requests' times.
type spent struct {
	ns      map[what]float64
	longest map[what]int64
	via     map[via]float64 // waits that were replaced
	ways    map[int][]during
	joined  float64
}

// during is a time on the way to a service or back, of the service's clock.
type during struct{ from, to int64 }

// via is a place that waits for another service.
type via struct {
	caller, callee int
	site           string
}

func newSpent() *spent {
	return &spent{map[what]float64{}, map[what]int64{}, map[via]float64{}, map[int][]during{}, 0}
}

// byPart adds up what each service, and each way to one, took.
func (s *spent) byPart() map[what]float64 {
	sums := map[what]float64{}
	for w, ns := range s.ns {
		w.blame = 0
		sums[w] += ns
	}
	return sums
}

const maxDepth = 16 // of calls

// add adds part of the time of a request.
func (j *joiner) add(into *spent, r ref, part float64, depth int) {
	s := j.services[r.service]
	j.tiles, j.entries = s.get(j.request(r), j.tiles[:0], j.entries[:0])
	path, entries := j.tiles, j.entries
	left, called := &left{s.blames, entries}, map[ref]float64{}
	for _, mostly := range []bool{true, false} { // others get what these leave at their place
		for i := len(path) - 1; i >= 0 && depth < maxDepth; i-- {
			if t := &path[i]; waits(t.Cause) == mostly && (mostly || t.Site != "") {
				j.replace(into, r, left, t, part, called)
			}
		}
	}
	for _, e := range entries {
		into.add(what{service: r.service, blame: e.blame}, part*float64(e.time), e.longest)
	}
	for callee, ns := range called { // once for each, though a call may span many waits
		j.add(into, callee, ns/float64(max(j.request(callee).took, 1)), depth+1)
	}
}

func (s *spent) add(w what, ns float64, longest int64) {
	if ns > 0 {
		s.ns[w] += ns
		s.longest[w] = max(s.longest[w], longest)
	}
}

// replace goes back through a wait from its end. The call that ended last is what was waited for, and
// before it began, another one may have been.
func (j *joiner) replace(
	into *spent, r ref, left *left, t *reqtrace.Tile, part float64, called map[ref]float64,
) {
	base := j.request(r).begin()
	start, end := base+int64(t.Start), base+int64(t.End)
	for end > start {
		c := lastOf(j.of(r), start, end)
		if c == nil {
			return
		}
		to, from, at := min(c.to, end), max(min(c.from, end), start), max(c.at, start)
		take := func(ns int64) float64 {
			taken := part * float64(left.take(t, ns))
			into.joined += taken
			return taken
		}
		callee := c.callee.service
		behind := j.clock(r.service, callee).offset(c.at)
		into.ways[callee] = append(into.ways[callee], during{at - behind, from - behind},
			during{max(to, start) - behind, end - behind})
		into.add(what{service: callee, between: true}, take(end-max(to, start))+take(from-at), 0)
		if ns := take(to - from); ns > 0 {
			into.via[via{r.service, callee, t.Site}] += ns
			called[c.callee] += ns
		}
		end = at
	}
}

// lastOf returns the call under way between two times that ended last before the second, or else the
// one that began last. The answer's time is not known of all servers, so an end may be too late.
func lastOf(calls []link, start, end int64) (last *link) {
	for i := range calls {
		c := &calls[i]
		if c.at >= end || c.to <= start {
			continue
		}
		switch over, lastOver := c.to > end+late, last != nil && last.to > end+late; {
		case last == nil, lastOver && !over:
			last = c
		case over && lastOver && c.at > last.at, !over && !lastOver && c.to > last.to:
			last = c
		}
	}
	return last
}

// path returns a request and those that it led to. start is where the first one began, and off what to
// add to the request's clock.
func (j *joiner) path(r ref, start, off int64, depth int) []Span {
	s, q := j.services[r.service], j.request(r)
	at := time.Duration(q.begin() + off - start)
	span := Span{Service: s.Name, Depth: depth, Start: at, End: at + time.Duration(q.took)}
	span.Tiles, _ = s.get(q, nil, nil)
	for i := range span.Tiles {
		span.Tiles[i].Start += at
		span.Tiles[i].End += at
	}
	spans := []Span{span}
	for _, c := range j.of(r) {
		if depth < maxDepth {
			behind := j.clock(r.service, c.callee.service).offset(c.at)
			spans = append(spans, j.path(c.callee, start, off+behind, depth+1)...)
		}
	}
	return spans
}

// left is what is left of a request's time.
type left struct {
	blames  []reqtrace.Blame
	entries []entry
}

// take takes a time of a wait away, and returns how much there was. A wait has several causes at its
// place if others had part in it. The tile has only the largest cause, which need not be a wait:
//
//	tile      network, 30 ms
//	entries   network 20 ms, lock 3 ms, descheduled 7 ms (the goroutine that reads the answer)
func (l *left) take(t *reqtrace.Tile, ns int64) (taken int64) {
	for _, fits := range []func(b *reqtrace.Blame) bool{
		func(b *reqtrace.Blame) bool { return b.Cause == t.Cause && b.Site == t.Site },
		func(b *reqtrace.Blame) bool { return waits(b.Cause) && b.Site == t.Site },
		func(b *reqtrace.Blame) bool { return b.Cause == t.Cause },
	} {
		for i := range l.entries {
			e := &l.entries[i]
			if b := &l.blames[e.blame]; waits(b.Cause) && fits(b) {
				n := max(min(e.time, ns-taken), 0)
				e.time -= n
				taken += n
			}
		}
	}
	return taken
}
