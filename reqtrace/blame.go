package reqtrace

import (
	"cmp"
	"slices"
)

// maxSteps bounds how many pieces of goroutines' time are looked at for one request; what is
// left of a wait beyond that is not followed.
const maxSteps = 1 << 20

// maxSites is how many places a request names.
const maxSites = 8

// blamer takes a request's time apart along its critical path. A wait for a lock or a channel is
// replaced by what the goroutine that ended it did meanwhile, and that one's waits by what others did:
//
//	request's goroutine   run  │ waits for a lock                        │ run      its path: each piece
//	                           │                                         │          of it is a tile
//	who ended that wait    ... │ run │ assist │ waits for a lock   │ run │ ...
//	                                          │                    │
//	who ended that wait                   ... │ runnable │ syscall │ ...            and so on
//
// Of this wait the assist, the time runnable and what the world stood still are the collector's and the
// scheduler's; the rest is the lock's. What is still to do is a list of pieces, not a recursion: convoys
// are thousands of goroutines deep.
//
// Invariants:
//   - Each nanosecond from a to b is given to one cause, once: take covers all of its piece by segments, and
//     a segment either adds its time, or puts pieces on the list that cover it.
//   - A goroutine is looked at within its piece alone: what it did before is not the request's.
//   - piece.as says what plain work of it counts as: CauseRunning where it works for the request,
//     CauseLock or CauseChannel where that is waited for. What the scheduler and the collector did to it
//     counts as theirs, whatever as is.
//   - After maxSteps segments what is left counts as what is waited for, unseen.
//
// Its slices are used again and again.
type blamer struct {
	clock  *clock
	replay *replay // nil: none
	todo   []piece
	sites  []blameOf
	path   []tileOf
}

// piece is a part of goroutine g's time that the request's goroutine waited through.
type piece struct {
	g    *goroutine
	a, b int64
	as   Cause  // what waiting for g counts as; Running: g works for the request
	site siteID // where the request waits
}

type blameOf struct {
	cause Cause
	site  siteID
	time  int64
}

// served is a request with its places and path as the model knows them.
type served struct {
	Request
	class siteID
	other bool      // than those that are asked for: its class is another one
	sites []blameOf // largest first, at most maxSites
	path  []tileOf
}

type tileOf struct {
	a, b  int64
	cause Cause
	site  siteID
}

// out fills in what users see of the places and the path.
func (r *served) out(sites *sites, origin int64) Request {
	for _, s := range r.sites {
		r.Sites = append(r.Sites, sites.blame(s.cause, s.site, s.time))
	}
	for _, t := range r.path {
		r.Path = append(r.Path, Tile{Start: dur(t.a - origin), End: dur(t.b - origin), Cause: t.cause, Site: sites.name(t.site)})
	}
	r.Class = sites.name(r.class)
	return r.Request
}

// blame fills in the parts, sites and path of r, which g served from a to b. Sites and path are
// the blamer's own until its next call.
func (x *blamer) blame(q *served, g *goroutine, a, b int64) {
	r := &q.Request
	x.path = x.path[:0]
	x.sites = x.sites[:0]
	steps := maxSteps
	p := x.replay
	if p != nil {
		p.begin(a, g.early(a), b-a, q.other)
	}
	for i, t := max(g.at(a), 0), a; t < b; i++ { // the path: g's own segments
		s, end := g.segment(i, b)
		if s.start > t { // forgotten
			r.Parts.ns[CauseUnknown] += dur(s.start - t)
			t = s.start
		}
		if end <= t {
			continue
		}
		tile := tileOf{t, end, CauseRunning, s.site}
		var gc, idle int64
		if s.state == stateRunning { // the most frequent, and nothing to take apart
			r.Parts.ns[CauseRunning] += dur(end - t)
		} else {
			before := r.Parts
			x.todo = append(x.todo[:0], piece{g: g, a: t, b: end, as: CauseRunning})
			steps = x.run(r, g.seq, steps)
			tile.cause = most(&before, &r.Parts)
			gc, idle = collector(&r.Parts)-collector(&before), int64(r.Parts.ns[CauseRunqueueIdle]-before.ns[CauseRunqueueIdle])
		}
		if p != nil {
			p.piece(s.state, end-t, gc, idle)
		}
		x.path = append(x.path, tile)
		t = end
	}
	if p != nil {
		p.end()
	}
	slices.SortFunc(x.sites, func(p, q blameOf) int { return cmp.Compare(q.time, p.time) })
	q.sites, q.path = x.sites[:min(len(x.sites), maxSites)], x.path
}

// collector returns the nanoseconds that the collector took of p.
func collector(p *Parts) int64 {
	return int64(p.ns[CauseAssistMark] + p.ns[CauseAssistWait] + p.ns[CauseSweep] + p.ns[CauseStopped] + p.ns[CauseRunqueueGC])
}

// most returns what after has most more of than before.
func most(before, after *Parts) (cause Cause) {
	most := dur(0)
	for c := range after.ns {
		if d := after.ns[c] - before.ns[c]; d > most {
			most, cause = d, Cause(c)
		}
	}
	return cause
}

// run takes apart all that is to do, in at most so many steps, and returns how many are left.
func (x *blamer) run(r *Request, seq uint64, steps int) int {
	for len(x.todo) > 0 {
		p := x.todo[len(x.todo)-1]
		x.todo = x.todo[:len(x.todo)-1]
		if steps <= 0 {
			x.lost(r, p, p.b-p.a)
			continue
		}
		steps -= x.take(r, seq, p)
	}
	return steps
}

// take takes p apart: adds what is clear, and puts what leads to other goroutines on the list. It
// returns how many segments it saw.
func (x *blamer) take(r *Request, seq uint64, p piece) (steps int) {
	i, t := p.g.at(p.a), p.a
	if i < 0 { // it did not exist yet, or it is forgotten what it did
		begin := p.b
		if len(p.g.segments) > 0 {
			begin = min(begin, p.g.segments[0].start)
		}
		if p.g.parent != nil && p.g.born <= begin && p.g.born > p.a {
			x.todo = append(x.todo, piece{p.g.parent, p.a, min(p.g.born, p.b), p.as, p.site})
			x.lost(r, p, begin-min(p.g.born, p.b))
		} else if p.g.ofNobody && p.as == CauseRunning && p.g.born > p.a && p.g.born <= begin {
			x.add(r, CauseSleep, p.site, begin-p.a)
		} else {
			x.lost(r, p, begin-p.a)
		}
		i, t = 0, begin
	}
	for ; t < p.b; i++ {
		s, end := p.g.segment(i, p.b)
		if i >= len(p.g.segments) {
			x.lost(r, p, end-t)
			return steps
		}
		if end > t {
			x.segment(r, seq, p, s, t, end)
			steps++
			t = end
		}
	}
	return steps + 1
}

// lost is time of which nothing is known but what it is waited for.
func (x *blamer) lost(r *Request, p piece, ns int64) {
	if p.as == CauseRunning {
		r.Parts.ns[CauseUnknown] += dur(ns)
	} else {
		x.add(r, p.as, p.site, ns)
	}
}

// segment takes s apart, from a to b.
func (x *blamer) segment(r *Request, seq uint64, p piece, s segment, a, b int64) {
	ns := b - a
	switch s.state {
	case stateAssistMark:
		x.add(r, CauseAssistMark, s.site, ns)
	case stateAssistWait:
		x.add(r, CauseAssistWait, s.site, ns)
	case stateSweep:
		x.add(r, CauseSweep, s.site, ns)
	case stateStopping:
		x.add(r, CauseStopped, s.site, ns)
	case stateRunnable:
		before := r.Parts.ns[CauseRunqueueBusy]
		x.clock.wait(&r.Parts, a, b)
		if busy := r.Parts.ns[CauseRunqueueBusy] - before; busy > 0 && s.site != 0 {
			x.place(CauseRunqueueBusy, s.site, int64(busy))
		}
	case stateLock, stateChannel:
		x.wait(r, seq, p, s, a, b)
	case stateUnknown, stateDead:
		x.lost(r, p, ns)
	default:
		if s.state == stateNetwork || s.state == stateSleep {
			held := x.clock.held(a, b)
			r.Parts.ns[CauseStopped] += dur(held)
			ns -= held
		}
		switch own := ownCause[s.state]; {
		case p.as != CauseRunning:
			x.add(r, p.as, p.site, ns)
		case own == CauseRunning: // which has no place
			r.Parts.ns[CauseRunning] += dur(ns)
		default:
			x.add(r, own, s.site, ns)
		}
	}
}

var ownCause = [...]Cause{
	stateRunning: CauseRunning, stateSyscall: CauseSyscall, stateCgo: CauseCgo, stateNetwork: CauseNetwork, stateSleep: CauseSleep, stateDead: CauseUnknown,
}

// wait follows who ended a wait for a lock or a channel.
func (x *blamer) wait(r *Request, seq uint64, p piece, s segment, a, b int64) {
	w := s.waker
	cause, site := CauseLock, s.site
	if s.state == stateChannel {
		cause = CauseChannel
	}
	switch {
	case w == nil && p.as != CauseRunning: // nobody knows; it is waited for all the same
		x.add(r, p.as, p.site, b-a)
	case w == nil:
		if cause == CauseChannel {
			cause = CauseSleep // a timer's channel
		}
		x.add(r, cause, site, b-a)
	case p.as != CauseRunning: // a convoy: the place where the request waits is what counts
		x.todo = append(x.todo, piece{w, a, b, p.as, p.site})
	case seq != 0 && w.owner == seq: // its own child
		x.todo = append(x.todo, piece{w, a, b, CauseRunning, site})
	case cause == CauseLock:
		x.todo = append(x.todo, piece{w, a, b, CauseLock, site})
	default: // since w last woke somebody else it works for this one
		if since := w.wokeBefore(b); since > a {
			x.todo = append(x.todo, piece{w, a, since, CauseChannel, site})
			a = since
		}
		x.todo = append(x.todo, piece{w, a, b, CauseRunning, site})
	}
}

// add adds a time with its place.
func (x *blamer) add(r *Request, cause Cause, site siteID, ns int64) {
	r.Parts.ns[cause] += dur(ns)
	x.place(cause, site, ns)
}

// place adds to the times of a place.
func (x *blamer) place(cause Cause, site siteID, ns int64) {
	for i := range x.sites {
		if s := &x.sites[i]; s.cause == cause && s.site == site {
			s.time += ns
			return
		}
	}
	x.sites = append(x.sites, blameOf{cause, site, ns})
}

// early returns by how much a request that was seen at a would have been seen earlier without the
// collector: what one look finds came at any time since the one before, evenly.
func (g *goroutine) early(a int64) int64 {
	p := g.poll
	if p == nil || a != g.woken {
		return 0
	}
	return (p.at - p.since) * int64(p.n-g.nth-1) / int64(p.n)
}
