package across

import (
	"time"

	"evenkeel.dev/reqtrace"
)

// A request's time, with each wait for another service replaced by what its own request did there:
//
//	shop      run │ network, of a call to prices            │ run
//	prices          on the way │ run │ lock │ on the way
//	the sum   run │ on the way │ run │ lock │ on the way    │ run

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
