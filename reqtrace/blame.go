package reqtrace

import (
	"cmp"
	"slices"
)

// maxSteps bounds how many segments are looked at for one request.
const maxSteps = 1 << 20

const maxSites = 8

// blamer takes a request's time apart along its critical path:
//
//	request's goroutine   run  │ waits for a lock                        │ run      its path: each segment
//	                           │                                         │          is a tile
//	who ended that wait    ... │ run │ assist │ waits for a lock   │ run │ ...
//	                                          │                    │
//	who ended that wait                   ... │ runnable │ syscall │ ...            and so on
//
// In this wait the assist and the time runnable belong to the collector and the scheduler. The rest
// belongs to the lock. It is noted with where the holder released it and what the holder did: the
// first ran, then the second was in a system call.
//
//  1. blame goes through the segments of the request's own goroutine. Each becomes a tile.
//  2. segment takes out the time that the machine stood still or the thread was off its CPU. It
//     adds the rest to the cause of the segment's state.
//  3. If a goroutine ended a wait for a lock or a channel, wait puts that goroutine on the list,
//     with the time that was waited through (follow).
//  4. run takes each piece off the list, and take treats its segments as in step 2. A list
//     replaces a recursion, because convoys are thousands of goroutines deep.
//  5. Before a holder acquired what is waited for, another goroutine held it. acquired puts that
//     one on the list.
//  6. blame keeps the places with the most time.
//
// Invariants:
//   - Each nanosecond is given to one cause, once. A segment adds its time, or puts pieces on the
//     list that cover it.
//   - A holder (piece.what) is examined only from the moment it acquired the lock. Earlier time
//     belongs to the previous holder.
//   - Each nanosecond of a cause that has places is at one of them (x.sites).
//   - piece.holder is where the last holder of the chain released. If it waits for an answer on a
//     channel, it remains the holder.
//   - Time that the scheduler and the collector took is theirs, whatever piece.as is.
//   - After maxSteps segments the rest counts as what is waited for.
//
// Its slices are used again and again.
type blamer struct {
	clock    *clock
	kernel   *kernel
	profiled bool // there is a CPU profile, and no kernel counts of threads
	known    *sites
	commits  []commit // of SQLite, in order of time

	// Of the request that is taken apart:
	parts   Parts
	seq     uint64
	steps   int
	todo    []piece
	sites   []blameOf
	path    []tileOf
	largest blameOf
	samples []sampled
	ran     []sampled // with the places where it was preempted
}

// piece is a part of goroutine g's time that the request's goroutine waited through.
type piece struct {
	g      *goroutine
	a, b   int64
	as     Cause  // the cause of waiting for g; Running: g works for the request
	site   siteID // where that is; if g works for the request, the last named wait on the way to g
	from   siteID // where the request's own goroutine waits; 0: g is it
	inside siteID

	// If as is not CauseRunning:
	held   bool
	holder siteID // where it was released, at the last named place
	near   siteID // where its holder waited for g; 0: g is it
	writer siteID // where a writer waits for a holder that reads
	what   siteID // where g waited for what it holds; 0: it holds nothing
	hold   int64  // how long its holder had it while the request waited
}

type blameOf struct {
	wait
	time    int64
	longest int64
}

// blame fills in r, which g served from a to b in the turn seq. The slices of r are the blamer's
// until its next call.
func (x *blamer) blame(r *served, g *goroutine, seq uint64, a, b int64) {
	x.parts, x.seq, x.steps = Parts{}, seq, maxSteps
	x.path, x.sites, x.samples, x.ran = x.path[:0], x.sites[:0], x.samples[:0], x.ran[:0]
	t := a
	for i := max(g.at(a), 0); i < len(g.segments) && t < b; i++ {
		s, end := g.segment(i, b)
		if start := min(s.start, b); start > t { // forgotten
			x.parts.ns[CauseUnknown] += dur(start - t)
			t = start
		}
		if end > t {
			x.path = append(x.path, x.tile(g, s, t, end))
			t = end
		}
	}
	x.parts.ns[CauseUnknown] += dur(b - t)
	slices.SortFunc(x.sites, func(p, q blameOf) int { return cmp.Compare(q.time, p.time) })
	r.Parts, r.ran = x.parts, mostSampled(x.ran)
	r.sites, r.path, r.samples = x.sites[:min(len(x.sites), maxSites)], x.path, x.samples
}

func (x *blamer) tile(g *goroutine, s *segment, a, b int64) tileOf {
	if s.state == stateRunning && x.onCPU(s.thread, a, b) { // the most frequent case
		x.parts.ns[CauseRunning] += dur(b - a)
		x.sample(g, a, b)
		return tileOf{a: a, b: b, cause: CauseRunning, site: s.site}
	}
	before := x.parts
	x.largest = blameOf{}
	own := piece{g: g, a: a, b: b, as: CauseRunning}
	if x.steps > 0 {
		x.steps--
		x.segment(&own, s, a, b)
		x.run()
	} else {
		x.lost(&own, b-a)
	}
	t := tileOf{a: a, b: b, cause: most(&before, &x.parts), site: s.site, most: x.largest.wait}
	if s.state == stateRunnable {
		t.site = 0 // it is the holder's
	}
	return t
}

// most returns the cause that grew most from before to after.
func most(before, after *Parts) (cause Cause) {
	most := dur(0)
	for c := range after.ns {
		if d := after.ns[c] - before.ns[c]; d > most {
			most, cause = d, Cause(c)
		}
	}
	return cause
}

func (x *blamer) run() {
	for len(x.todo) > 0 {
		p := x.todo[len(x.todo)-1]
		x.todo = x.todo[:len(x.todo)-1]
		if x.steps > 0 {
			x.take(&p)
		} else {
			x.lost(&p, p.b-p.a)
		}
	}
}

// take adds what is clear of p. What leads to other goroutines goes on the list.
func (x *blamer) take(p *piece) {
	x.steps--
	if p.what != 0 {
		x.acquired(p)
	}
	if x.kernel != nil && p.hold > 0 {
		p.hold -= x.kernel.offIn(p.g, p.b-p.hold, p.b)
	}
	i, t := p.g.at(p.a), p.a
	if i < 0 {
		i, t = 0, x.unseen(p)
	}
	for ; i < len(p.g.segments) && t < p.b; i++ {
		if s, end := p.g.segment(i, p.b); end > t {
			x.steps--
			x.segment(p, s, t, end)
			t = end
		}
	}
	if t < p.b {
		x.lost(p, p.b-t)
	}
}

// unseen takes apart the part of p in which its goroutine did not exist, or did what is forgotten.
// It returns the end of that part.
func (x *blamer) unseen(p *piece) (end int64) {
	g, end := p.g, p.b
	if len(g.segments) > 0 {
		end = min(end, g.segments[0].start)
	}
	born := g.born > p.a && g.born <= end
	switch {
	case p.what != 0 && g.born > p.a: // another goroutine had it, maybe not the one that made g
		x.nobodys(*p, end)
	case born && g.parent != nil:
		before := *p
		before.g, before.b = g.parent, g.born
		x.todo = append(x.todo, before)
		x.lost(p, end-g.born)
	case born && g.ofNobody && p.as == CauseRunning: // a timer's
		x.spend(p, CauseSleep, &segment{site: p.site}, end, end-p.a)
	default:
		x.lost(p, end-p.a)
	}
	return end
}

// acquired hands on the part of p before its goroutine had what is waited for. If the goroutine
// waited for it too, who ended that wait had it before. If the goroutine waited for a request, the
// earlier holder is not known:
//
//	who is waited for   its last request │ waits for one │ run │ waits for it too  │ has it │ lets go
//	                    nobody's ────────────────────────┘     │                   │ its own
//	                                     who ended this wait: all before this ─────┘
func (x *blamer) acquired(p *piece) {
	segments, end := p.g.segments, p.b
	for i := p.g.at(p.b - 1); i >= 0 && end > p.a; i-- {
		x.steps--
		s := &segments[i]
		switch {
		case s.idle:
			x.nobodys(*p, end)
			p.a = end
			return
		case end < p.b && (x.known.sameHeld(s, p.what) || x.known.sameRelease(s, p.holder)):
			before := x.known.follow(p, s, p.a, end, p.as, true)
			if s.site == 0 { // it is not known where it waited, but it is the same thing
				before.what = p.what
			}
			x.todo = append(x.todo, before)
			p.a, p.hold = end, p.b-end
			return
		}
		end = s.start
	}
}

// nobodys is time until b in which the holder is not known.
func (x *blamer) nobodys(p piece, b int64) {
	p.holder, p.writer = 0, 0
	still := x.clock.stand(&x.parts, p.a, b)
	x.lost(&p, b-p.a-still)
}

func (x *blamer) lost(p *piece, ns int64) {
	if p.as == CauseRunning {
		x.parts.ns[CauseUnknown] += dur(ns)
	} else {
		x.spend(p, CauseUnknown, &segment{}, p.b, ns)
	}
}

// segment takes s apart, from a to b. A wait that goes on while the machine stands still loses that
// time, because the trace does not say when it was due to end. The clock does so for time runnable,
// and in waits that are followed the other goroutines' segments do.
func (x *blamer) segment(p *piece, s *segment, a, b int64) {
	if a = x.busy(p, s, a, b); a == b {
		return
	}
	ns := b - a
	if s.state != stateRunnable && !x.leads(s) {
		ns -= x.clock.stand(&x.parts, a, b)
	}
	ns -= x.off(p, s.thread, a, b)
	switch s.state {
	case stateAssistMark:
		x.add(wait{cause: CauseAssistMark, site: s.site}, ns)
	case stateAssistWait:
		before := x.parts
		x.parts.ns[CauseAssistWait] += dur(ns)
		x.kernel.waited(&x.parts, &before, a, b)
		ns = int64(x.parts.ns[CauseAssistWait] - before.ns[CauseAssistWait])
		x.place(wait{cause: CauseAssistWait, site: s.site}, ns, ns)
	case stateSweep:
		x.add(wait{cause: CauseSweep, site: s.site}, ns)
	case stateStopping:
		if x.known.places[s.site].stops {
			x.add(wait{cause: CauseStoppedOther, holder: s.site, op: s.site}, ns)
		} else {
			x.add(wait{cause: CauseStopped, site: s.site}, ns)
		}
	case stateRunnable:
		x.queued(s, a, b)
	case stateLock, stateChannel:
		x.wait(p, s, b-ns, b)
	case stateUnknown, stateDead:
		x.lost(p, ns)
	default:
		if s.state == stateNetwork || s.state == stateSleep {
			held := min(x.clock.held(a, b), ns)
			x.parts.ns[CauseStopped] += dur(held)
			x.halted(a, b, held)
			ns -= held
		}
		if s.state == stateRunning && p.as == CauseRunning {
			x.sample(p.g, a, b)
		}
		x.spend(p, ownCause[s.state], s, b, ns)
	}
}

// ownCause is the cause of states that need no more than their time.
var ownCause = [...]Cause{
	stateRunning: CauseRunning, stateSyscall: CauseSyscall, stateCgo: CauseCgo, stateNetwork: CauseNetwork,
	stateSleep: CauseSleep, stateDead: CauseUnknown,
}

// onCPU reports whether a thread was on its CPU, as far as the kernel's counts say.
func (x *blamer) onCPU(thread int32, a, b int64) bool {
	return x.clock.stood(a, b) == 0 && x.kernel.off(thread, a, b) == offCPU{}
}

// off adds the time for which a thread was off its CPU, and returns its sum.
func (x *blamer) off(p *piece, thread int32, a, b int64) int64 {
	off := x.kernel.off(thread, a, b)
	x.parts.ns[CauseThrottled] += dur(off.quota)
	x.parts.ns[CauseDescheduled] += dur(off.others)
	if off.others > 0 && p.as != CauseRunning {
		x.place(wait{cause: CauseDescheduled, site: p.site, holder: p.holder}, off.others, off.others)
	}
	return off.quota + off.others
}

// queued adds a wait for a processor, and the places of the goroutines that ran instead.
func (x *blamer) queued(s *segment, a, b int64) {
	before := x.parts
	x.clock.wait(&x.parts, a, b)
	x.halted(a, b, int64(x.parts.ns[CauseStopped]-before.ns[CauseStopped]))
	queue := x.parts.ns[CauseRunqueueBusy]
	x.kernel.waited(&x.parts, &before, a, b)
	busy := int64(x.parts.ns[CauseRunqueueBusy] - before.ns[CauseRunqueueBusy])
	// these were off their CPUs
	off := int64(min(queue-x.parts.ns[CauseRunqueueBusy], x.parts.ns[CauseDescheduled]-before.ns[CauseDescheduled]))
	if busy <= 0 && off <= 0 {
		return
	}
	holder, longest := x.clock.hog(a, b)
	if holder = cmp.Or(holder, s.site); holder == 0 {
		return
	}
	if busy > 0 {
		x.place(wait{cause: CauseRunqueueBusy, holder: holder}, busy, min(longest, b-a))
	}
	if off > 0 {
		x.place(wait{cause: CauseDescheduled, holder: holder}, off, off)
	}
}

// halted moves stops by others than the collector to CauseStoppedOther. stopped is how long the
// world was stopped from a to b.
func (x *blamer) halted(a, b, stopped int64) {
	for i := len(x.clock.halts) - 1; i >= 0 && stopped > 0 && x.clock.halts[i].b > a; i-- {
		h := &x.clock.halts[i]
		ns := min(min(h.b, b)-max(h.a, a), stopped)
		if ns <= 0 {
			continue
		}
		stopped -= ns
		x.parts.ns[CauseStopped] -= dur(ns)
		x.parts.ns[CauseStoppedOther] += dur(ns)
		x.place(wait{cause: CauseStoppedOther, holder: h.by, op: h.by}, ns, max(min(h.b, b)-h.a, ns))
	}
}

// leads reports whether a wait is followed to the goroutine that ended it. A wait for a free stream
// of gRPC is not, because the goroutine that reads for all calls ends it.
func (x *blamer) leads(s *segment) bool {
	return s.waker != nil && (s.state == stateLock || s.state == stateChannel) && x.known.places[s.site].op != opStream
}

func (x *blamer) wait(p *piece, s *segment, a, b int64) {
	w, cause, alone := s.waker, CauseLock, CauseLock
	if s.state == stateChannel {
		cause, alone = CauseChannel, CauseSleep // a timer ended it
	}
	held := cause == CauseLock || s.held || x.known.places[s.site].resource
	push := func(a, b int64, as Cause) {
		x.todo = append(x.todo, x.known.follow(p, s, a, b, as, held && as != CauseRunning))
	}
	switch {
	case x.known.places[s.site].op == opStream:
		x.spend(p, CauseChannel, s, b, b-a)
	case w == nil:
		x.spend(p, alone, s, b, b-a)
	case p.as != CauseRunning:
		push(a, b, p.as)
	case x.seq != 0 && w.owner == x.seq: // its own child
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

// spend adds ns until b, which p's goroutine spent on own in the segment s.
func (x *blamer) spend(p *piece, own Cause, s *segment, b, ns int64) {
	if p.as == CauseRunning && own == CauseRunning { // it has no place
		x.parts.ns[CauseRunning] += dur(ns)
		return
	}
	if own == CauseRunning && x.profiled && p.holder != 0 {
		x.known.held(p.holder, p.g, b-ns, b)
	}
	w := x.known.spentBy(p, own, s)
	x.parts.ns[w.cause] += dur(ns)
	x.place(w, ns, max(ns, p.hold))
}

func (x *blamer) add(w wait, ns int64) {
	x.parts.ns[w.cause] += dur(ns)
	x.place(w, ns, ns)
}

// place adds to the times of a place. stretch is how long it was at a time, or its holder had it.
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
