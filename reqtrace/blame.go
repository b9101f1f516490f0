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
// Of this wait the assist, the time runnable and what the world stood still are the collector's and
// the scheduler's; the rest is the lock's. The rest of each piece is noted with who let go at its
// end (holder) and what that one did: here the first of them ran, then the second was in a system
// call while it held what the first waited for. So hand-offs of a convoy are noted as the moments
// that they are, and who began it with the time that it held the lock. What is still to do is a
// list of pieces, not a recursion: convoys are thousands of goroutines deep.
//
// Invariants:
//   - Each nanosecond from a to b is given to one cause, once: take covers all of its piece by segments, and
//     a segment either adds its time, or puts pieces on the list that cover it.
//   - A goroutine is looked at within its piece alone: what it did before is not the request's.
//   - A holder (piece.what) is examined only from the moment it acquired the lock. Earlier time
//     belongs to the previous holder.
//   - Each nanosecond of a cause that has places is at one of them (x.sites), however it was waited for.
//   - piece.holder is where the goroutine at the end of the last held wait of the chain let go.
//     What a holder waits for otherwise (a channel: somebody's answer) leaves it the holder: that
//     is what it did meanwhile.
//   - piece.as says what plain work of it counts as: CauseRunning where it works for the request,
//     CauseLock or CauseChannel where that is waited for. What the scheduler and the collector did to it
//     counts as theirs, whatever as is.
//   - After maxSteps segments what is left counts as what is waited for, unseen.
//
// Its slices are used again and again.
type blamer struct {
	clock  *clock
	kernel *kernel // nil: not known

	profiled bool // the trace has a CPU profile, and no kernel counts of threads

	known   *sites
	todo    []piece
	sites   []blameOf
	path    []tileOf
	commits []commit // of SQLite, in order of time; pruned with the model's goroutines
	largest blameOf  // the longest that was added to the current tile
	samples []sampled
	ran     []sampled // samples, and the places where it was preempted
}

// piece is a part of goroutine g's time that the request's goroutine waited through.
type piece struct {
	g      *goroutine
	a, b   int64
	as     Cause  // what waiting for g counts as; Running: g works for the request
	site   siteID // where that wait is. If g works for the request: the last wait on the way to g that has a name
	from   siteID // where the request's own goroutine waits; 0: it is g
	inside siteID // the library's function that sleeps at site

	// Where as is not CauseRunning:
	held   bool   // what is waited for is held; else it is made
	holder siteID // where it was let go: the last that has a name, so the root's
	near   siteID // where its holder waited for g; 0: g is it
	writer siteID // of a writer that waits for a holder that reads: see sites.writerAt
	what   siteID // where what g has was waited for, if there is one of it; 0: g has none
	hold   int64  // for how long its holder had it, as far as the request waited for that
}

type blameOf struct {
	wait
	time    int64
	longest int64 // at a stretch
}

// served is a request with its places and path as the model knows them.
type served struct {
	Request
	class   siteID
	other   bool      // than those that are asked for: its class is another one
	sites   []blameOf // largest first, at most maxSites
	path    []tileOf
	samples []sampled // of running, by place
	ran     siteID
}

type tileOf struct {
	a, b  int64
	cause Cause
	site  siteID
	most  wait // that took most of it at a stretch; zero: it has no place
}

// out fills in what users see of the places and the path.
func (r *served) out(m *model) Request {
	sites, origin := m.sites, m.origin
	r.Clock, r.Began = origin+int64(r.End), m.wall(origin+int64(r.Start))
	for _, s := range r.sites {
		r.Sites = append(r.Sites, sites.blame(&s.wait, s.time, s.longest))
	}
	for _, t := range r.path {
		tile := Tile{Start: dur(t.a - origin), End: dur(t.b - origin), Cause: t.cause, Site: sites.name(t.site)}
		if t.most.cause == t.cause {
			tile.Op, tile.Holder, tile.Doing = sites.opOf(t.most.op, t.most.site), sites.name(t.most.holder),
				t.most.doing
		}
		r.Path = append(r.Path, tile)
	}
	r.Class, r.Ran = sites.name(r.class), sites.name(r.ran)
	return r.Request
}

// blame fills in the parts, sites and path of r, which g served from a to b in the turn seq. Sites and path are
// the blamer's own until its next call.
func (x *blamer) blame(q *served, g *goroutine, seq uint64, a, b int64) {
	r := &q.Request
	x.path = x.path[:0]
	x.sites, x.samples, x.ran = x.sites[:0], x.samples[:0], x.ran[:0]
	steps := maxSteps
	for i, t := max(g.at(a), 0), a; t < b; i++ { // the path: g's own segments
		if i >= len(g.segments) {
			r.Parts.ns[CauseUnknown] += dur(b - t)
			break
		}
		s, end := g.segment(i, b)
		if s.start > t { // forgotten
			r.Parts.ns[CauseUnknown] += dur(s.start - t)
			t = s.start
		}
		if end <= t {
			continue
		}
		tile := tileOf{a: t, b: end, cause: CauseRunning, site: s.site}
		if s.state == stateRunnable {
			tile.site = 0 // it is the holder's
		}
		if s.state == stateRunning && x.onCPU(s.thread, t, end) { // the most frequent case: nothing to take apart
			r.Parts.ns[CauseRunning] += dur(end - t)
			x.sample(g, t, end)
		} else {
			before := r.Parts
			x.largest = blameOf{}
			own := piece{g: g, a: t, b: end, as: CauseRunning}
			if steps > 0 {
				x.segment(r, seq, &own, s, t, end)
				steps = x.run(r, seq, steps-2) // the same count as take's
			} else {
				x.lost(r, &own, end-t)
			}
			tile.cause, tile.most = most(&before, &r.Parts), x.largest.wait
		}
		x.path = append(x.path, tile)
		t = end
	}
	slices.SortFunc(x.sites, func(p, q blameOf) int { return cmp.Compare(q.time, p.time) })
	q.sites, q.path, q.samples, q.ran = x.sites[:min(len(x.sites), maxSites)], x.path, x.samples, mostSampled(x.ran)
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
			x.lost(r, &p, p.b-p.a)
			continue
		}
		steps -= x.take(r, seq, &p)
	}
	return steps
}

// take takes p apart: adds what is clear, and puts what leads to other goroutines on the list. It
// returns how many segments it saw.
func (x *blamer) take(r *Request, seq uint64, p *piece) (steps int) {
	if p.what != 0 {
		steps = x.acquired(r, p)
	}
	if x.kernel != nil && p.hold > 0 {
		p.hold -= x.kernel.offIn(p.g, p.b-p.hold, p.b)
	}
	i, t := p.g.at(p.a), p.a
	if i < 0 { // it did not exist yet, or it is forgotten what it did
		begin := p.b
		if len(p.g.segments) > 0 {
			begin = min(begin, p.g.segments[0].start)
		}
		if p.what != 0 && p.g.born > p.a { // somebody else had it, and who made g need not be that one
			x.nobodys(r, *p, begin)
		} else if p.g.parent != nil && p.g.born <= begin && p.g.born > p.a {
			before := *p
			before.g, before.b = p.g.parent, min(p.g.born, p.b)
			x.todo = append(x.todo, before)
			x.lost(r, p, begin-min(p.g.born, p.b))
		} else if p.g.ofNobody && p.as == CauseRunning && p.g.born > p.a && p.g.born <= begin {
			x.spend(r, p, CauseSleep, &segment{site: p.site}, begin, begin-p.a)
		} else {
			x.lost(r, p, begin-p.a)
		}
		i, t = 0, begin
	}
	for ; t < p.b; i++ {
		if i >= len(p.g.segments) {
			x.lost(r, p, p.b-t)
			return steps
		}
		s, end := p.g.segment(i, p.b)
		if end > t {
			x.segment(r, seq, p, s, t, end)
			steps++
			t = end
		}
	}
	return steps + 1
}

// acquired hands on what of p was before its goroutine had what is waited for, and returns how many
// segments it saw. Where the goroutine itself waited for it, who ended that wait had it before;
// where it waited for a request, nobody knows who had it until then: the goroutine in an earlier
// life, or the one that made it, had not:
//
//	who is waited for   its last request │ waits for one │ run │ waits for it too  │ has it │ lets go
//	                    nobody's ────────────────────────┘     │                   │ its own
//	                                     who ended this wait: all before this ─────┘
func (x *blamer) acquired(r *Request, p *piece) (steps int) {
	segments, end := p.g.segments, p.b
	for i := p.g.at(p.b - 1); i >= 0 && end > p.a; i-- {
		steps++
		s := &segments[i]
		switch {
		case s.idle:
			x.nobodys(r, *p, end)
			p.a = end
			return steps
		case end < p.b && (x.known.sameHeld(s, p.what) || x.known.sameRelease(s, p.holder)):
			before := x.known.follow(p, s, s.waker, p.a, end, p.as, true)
			if s.site == 0 { // where it waited is not told, and it is the same thing
				before.what = p.what
			}
			x.todo = append(x.todo, before)
			p.a, p.hold = end, p.b-end
			return steps
		}
		end = s.start
	}
	return steps
}

// nobodys is time until b in which nobody knows who had what is waited for.
func (x *blamer) nobodys(r *Request, p piece, b int64) {
	p.holder, p.writer = 0, 0
	still := x.clock.stand(&r.Parts, p.a, b)
	x.lost(r, &p, b-p.a-still)
}

// onCPU reports whether a thread was on its CPU from a to b, as far as the kernel's counts say.
func (x *blamer) onCPU(thread int32, a, b int64) bool {
	if len(x.clock.stalls) > 0 && x.clock.stood(a, b) > 0 {
		return false
	}
	return x.kernel.off(thread, a, b) == offCPU{}
}

// off moves the time for which a piece's thread was off its CPU from a to b to the causes of that.
// It returns how much it moved.
func (x *blamer) off(r *Request, p *piece, s *segment, a, b int64) int64 {
	off := x.kernel.off(s.thread, a, b)
	r.Parts.ns[CauseThrottled] += dur(off.quota)
	r.Parts.ns[CauseDescheduled] += dur(off.others)
	if off.others > 0 && p.as != CauseRunning {
		x.place(wait{cause: CauseDescheduled, site: p.site, holder: p.holder}, off.others, off.others)
	}
	return off.quota + off.others
}

// lost is time of which nothing is known but what it is waited for.
func (x *blamer) lost(r *Request, p *piece, ns int64) {
	if p.as == CauseRunning {
		r.Parts.ns[CauseUnknown] += dur(ns)
	} else {
		x.spend(r, p, CauseUnknown, &segment{}, p.b, ns)
	}
}

// segment takes s apart, from a to b.
func (x *blamer) segment(r *Request, seq uint64, p *piece, s *segment, a, b int64) {
	if a = x.busy(p, s, a, b); a == b {
		return
	}
	ns := b - a
	if len(x.clock.stalls) > 0 {
		ns -= x.still(r, s, a, b)
	}
	if x.kernel != nil && s.thread != 0 {
		ns -= x.off(r, p, s, a, b)
	}
	switch s.state {
	case stateAssistMark:
		x.add(r, wait{cause: CauseAssistMark, site: s.site}, ns)
	case stateAssistWait:
		before := r.Parts
		r.Parts.ns[CauseAssistWait] += dur(ns)
		x.kernel.waited(&r.Parts, &before, a, b)
		ns = int64(r.Parts.ns[CauseAssistWait] - before.ns[CauseAssistWait])
		x.place(wait{cause: CauseAssistWait, site: s.site}, ns, ns)
	case stateSweep:
		x.add(r, wait{cause: CauseSweep, site: s.site}, ns)
	case stateStopping:
		if x.known.places[s.site].stops {
			x.add(r, wait{cause: CauseStoppedOther, holder: s.site, op: s.site}, ns)
		} else {
			x.add(r, wait{cause: CauseStopped, site: s.site}, ns)
		}
	case stateRunnable:
		before := r.Parts
		x.clock.wait(&r.Parts, a, b)
		x.halted(r, a, b, int64(r.Parts.ns[CauseStopped]-before.ns[CauseStopped]))
		queue := r.Parts.ns[CauseRunqueueBusy]
		x.kernel.waited(&r.Parts, &before, a, b)
		busy := int64(r.Parts.ns[CauseRunqueueBusy] - before.ns[CauseRunqueueBusy])
		off := int64(min(queue-r.Parts.ns[CauseRunqueueBusy], r.Parts.ns[CauseDescheduled]-before.ns[CauseDescheduled]))
		if busy > 0 || off > 0 {
			x.behind(s, a, b, busy, off)
		}
	case stateLock, stateChannel:
		x.wait(r, seq, p, s, b-ns, b)
	case stateUnknown, stateDead:
		x.lost(r, p, ns)
	default:
		if s.state == stateNetwork || s.state == stateSleep {
			held := min(x.clock.held(a, b), ns)
			r.Parts.ns[CauseStopped] += dur(held)
			x.halted(r, a, b, held)
			ns -= held
		}
		if s.state == stateRunning && p.as == CauseRunning {
			x.sample(p.g, a, b)
		}
		x.spend(r, p, ownCause[s.state], s, b, ns)
	}
}

// behind adds the places of a wait for a processor: where the goroutines that ran instead are, and
// for how long these were off their CPUs.
func (x *blamer) behind(s *segment, a, b, busy, off int64) {
	holder, longest := x.clock.hog(a, b)
	if holder == 0 {
		holder = s.site
	}
	if holder == 0 {
		return
	}
	if busy > 0 {
		x.place(wait{cause: CauseRunqueueBusy, holder: holder}, busy, min(longest, b-a))
	}
	if off > 0 {
		x.place(wait{cause: CauseDescheduled, holder: holder}, off, off)
	}
}

// halted takes out of the time that the world was stopped in a piece from a to b what others than
// the collector stopped it for.
func (x *blamer) halted(r *Request, a, b, stopped int64) {
	for i := len(x.clock.halts) - 1; i >= 0 && stopped > 0 && x.clock.halts[i].b > a; i-- {
		h := &x.clock.halts[i]
		ns := min(min(h.b, b)-max(h.a, a), stopped)
		if ns <= 0 {
			continue
		}
		stopped -= ns
		r.Parts.ns[CauseStopped] -= dur(ns)
		r.Parts.ns[CauseStoppedOther] += dur(ns)
		x.place(wait{cause: CauseStoppedOther, holder: h.by, op: h.by}, ns, max(min(h.b, b)-h.a, ns))
	}
}

// still takes out of a piece from a to b what the machine stood still, and returns how much that
// is. A wait that would have gone on anyway is no exception: the trace does not say when its end
// was due. Time runnable and waits that lead to other goroutines have it taken out further on.
func (x *blamer) still(r *Request, s *segment, a, b int64) (ns int64) {
	switch {
	case s.state == stateRunnable, x.leads(s):
		return 0
	}
	return x.clock.stand(&r.Parts, a, b)
}

var ownCause = [...]Cause{
	stateRunning: CauseRunning, stateSyscall: CauseSyscall, stateCgo: CauseCgo, stateNetwork: CauseNetwork,
	stateSleep: CauseSleep, stateDead: CauseUnknown,
}

// leads reports whether a wait is followed to the goroutine that ended it. A wait for a free stream
// of gRPC is not. The goroutine that reads for all calls of the connection ends it, and its wait
// for the network is not the cause.
func (x *blamer) leads(s *segment) bool {
	return s.waker != nil && (s.state == stateLock || s.state == stateChannel) && x.known.places[s.site].op != opStream
}

// wait follows who ended a wait for a lock or a channel.
func (x *blamer) wait(r *Request, seq uint64, p *piece, s *segment, a, b int64) {
	w, cause := s.waker, CauseLock
	if s.state == stateChannel {
		cause = CauseChannel
	}
	held := cause == CauseLock || s.held || x.known.places[s.site].resource
	push := func(a, b int64, as Cause) {
		x.todo = append(x.todo, x.known.follow(p, s, w, a, b, as, held && as != CauseRunning))
	}
	switch {
	case x.known.places[s.site].op == opStream:
		x.spend(r, p, CauseChannel, s, b, b-a)
	case w == nil && cause == CauseChannel: // a timer's
		x.spend(r, p, CauseSleep, s, b, b-a)
	case w == nil: // nobody knows
		x.spend(r, p, CauseLock, s, b, b-a)
	case p.as != CauseRunning: // a chain
		push(a, b, p.as)
	case seq != 0 && w.owner == seq: // its own child
		push(a, b, CauseRunning)
	case held:
		push(a, b, cause)
	default:
		if since := x.known.worksSince(w, p.g, b); since > a {
			push(a, since, CauseChannel)
			a = since
		}
		push(a, b, CauseRunning)
	}
}

// spend adds ns that end at b, which p's goroutine spent on own in the segment s.
func (x *blamer) spend(r *Request, p *piece, own Cause, s *segment, b, ns int64) {
	if p.as == CauseRunning && own == CauseRunning { // which has no place
		r.Parts.ns[CauseRunning] += dur(ns)
		return
	}
	if own == CauseRunning && x.profiled && p.holder != 0 {
		x.known.held(p.holder, p.g, b-ns, b)
	}
	w := x.known.spentBy(p, own, s)
	r.Parts.ns[w.cause] += dur(ns)
	x.place(w, ns, max(ns, p.hold))
}

// add adds a time with its place.
func (x *blamer) add(r *Request, w wait, ns int64) {
	r.Parts.ns[w.cause] += dur(ns)
	x.place(w, ns, ns)
}

// place adds to the times of a place; stretch is how long it was at a time, or how long the holder
// had what was waited for.
func (x *blamer) place(w wait, ns, stretch int64) {
	if ns > x.largest.time {
		x.largest = blameOf{w, ns, stretch}
	}
	for i := range x.sites {
		if s := &x.sites[i]; s.wait == w {
			s.time += ns
			s.longest = max(s.longest, stretch)
			return
		}
	}
	x.sites = append(x.sites, blameOf{w, ns, stretch})
}
