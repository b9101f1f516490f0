package reqtrace

import (
	"cmp"
	"slices"
)

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
// belongs to the lock, with where the holder released it and what the holder did.
//
//  1. blame makes a tile of each segment of the request's own goroutine.
//  2. segment takes out stalls of the machine and time off the CPU. The rest is of the state's cause.
//  3. If a goroutine ended a wait for a lock or a channel, wait puts that goroutine on the list, with
//     the time that was waited through (follow).
//  4. run takes each piece off the list, and take treats its segments as in step 2. A list replaces a
//     recursion, because convoys are thousands of goroutines deep.
//  5. Before a holder acquired the lock, another goroutine held it. acquired puts that one on the list.
//  6. blame keeps the places with the most time.
//
// Invariants:
//   - Each nanosecond is given to one cause, once. A segment adds its time, or puts pieces on the list
//     that cover it.
//   - A holder is examined only from the moment it acquired the lock. Earlier time belongs to the
//     previous holder.
//   - Each nanosecond of a cause that has places is at one of them (x.sites).
//   - piece.holder is where the last holder of the chain released. It remains the holder while it waits
//     for an answer on a channel.
//   - Time that the scheduler and the collector took is theirs, whatever piece.cause is.
type blamer struct {
	clock    *clock
	kernel   *kernel
	profiled bool // there is a CPU profile, without kernel counts
	known    *sites
	commits  []commit // by time

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
	cause  Cause  // of waiting for g; CauseRunning: g works for the request
	site   siteID // where that is, or the last named wait on the way to g
	from   siteID // where the request's own goroutine waits; 0: it is g
	inside siteID

	// If cause is not CauseRunning:
	held        bool
	holder      siteID // where it was released
	holderWait  siteID // where its holder waited for g; 0: g is it
	writer      siteID // where a writer waits for a reader
	acquireSite siteID // where g waited for what it holds, or 0
	hold        int64  // how long it was held while the request waited
}

type blameOf struct {
	wait
	time    int64
	longest int64
}

// blame fills in r, which its goroutine served from a to b. r's slices are valid until the next call.
func (x *blamer) blame(r *served, a, b int64) {
	g := r.g
	x.parts, x.seq, x.steps = Parts{}, r.seq, maxSteps
	x.path, x.sites, x.samples, x.ran = x.path[:0], x.sites[:0], x.samples[:0], x.ran[:0]
	t := a
	for i := max(g.at(a), 0); i < len(g.segments) && t < b; i++ {
		s, end := g.segment(i, b)
		if start := min(s.start, b); start > t { // pruned
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
	own := piece{g: g, a: a, b: b, cause: CauseRunning}
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

func (x *blamer) take(p *piece) {
	x.steps--
	if p.acquireSite != 0 {
		x.acquired(p)
	}
	if len(x.kernel.threads) > 0 && p.hold > 0 {
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

// unseen takes apart the front of p, in which its goroutine has no segments, and returns its end.
func (x *blamer) unseen(p *piece) (end int64) {
	g, end := p.g, p.b
	if len(g.segments) > 0 {
		end = min(end, g.segments[0].start)
	}
	born := g.born > p.a && g.born <= end
	switch {
	case p.acquireSite != 0 && g.born > p.a: // maybe not the one that made g had it
		x.unknownHolder(*p, end)
	case born && g.parent != nil:
		before := *p
		before.g, before.b = g.parent, g.born
		x.todo = append(x.todo, before)
		x.lost(p, end-g.born)
	case born && g.ofNobody && p.cause == CauseRunning: // a timer's
		x.spend(p, CauseSleep, &segment{site: p.site}, end, end-p.a)
	default:
		x.lost(p, end-p.a)
	}
	return end
}

// acquired hands on the part of p before its goroutine had what is waited for:
//
//	who is waited for   its last request │ waits for one │ run │ waits for it too  │ has it │ lets go
//	                    not known ───────────────────────┘     │                   │ its own
//	                                     who ended this wait: all before this ─────┘
func (x *blamer) acquired(p *piece) {
	segments, end := p.g.segments, p.b
	for i := p.g.at(p.b - 1); i >= 0 && end > p.a; i-- {
		x.steps--
		s := &segments[i]
		switch {
		case s.idle:
			x.unknownHolder(*p, end)
			p.a = end
			return
		case end < p.b && (x.known.sameHeld(s, p.acquireSite) || x.known.sameRelease(s, p.holder)):
			before := x.known.follow(p, s, p.a, end, p.cause, true)
			if s.site == 0 { // before the trace
				before.acquireSite = p.acquireSite
			}
			x.todo = append(x.todo, before)
			p.a, p.hold = end, p.b-end
			return
		}
		end = s.start
	}
}

func (x *blamer) unknownHolder(p piece, b int64) {
	p.holder, p.writer = 0, 0
	stalled := x.clock.addStalls(&x.parts, p.a, b)
	x.lost(&p, b-p.a-stalled)
}

func (x *blamer) lost(p *piece, ns int64) {
	if p.cause == CauseRunning {
		x.parts.ns[CauseUnknown] += dur(ns)
	} else {
		x.spend(p, CauseUnknown, &segment{}, p.b, ns)
	}
}

// segment takes s apart, from a to b. A wait loses the time of a stall, because the trace does not
// say when it was due to end. Time runnable and followed waits lose it elsewhere.
func (x *blamer) segment(p *piece, s *segment, a, b int64) {
	if a = x.busy(p, s, a, b); a == b {
		return
	}
	ns := b - a
	if s.state != stateRunnable && !x.followed(s) {
		ns -= x.clock.addStalls(&x.parts, a, b)
	}
	ns -= x.addOffCPU(p, s.thread, a, b)
	switch s.state {
	case stateAssistMark:
		x.add(wait{cause: CauseAssistMark, site: s.site}, ns)
	case stateAssistWait:
		before := x.parts
		x.parts.ns[CauseAssistWait] += dur(ns)
		x.kernel.waited(&x.parts, &before, a, b)
		ns = int64(x.parts.ns[CauseAssistWait] - before.ns[CauseAssistWait])
		x.addToSite(wait{cause: CauseAssistWait, site: s.site}, ns, ns)
	case stateSweep:
		x.add(wait{cause: CauseSweep, site: s.site}, ns)
	case stateStopping:
		if x.known.places[s.site].stops {
			x.add(wait{cause: CauseStoppedOther, holder: s.site, op: s.site}, ns)
		} else {
			x.add(wait{cause: CauseStopped, site: s.site}, ns)
		}
	case stateRunnable:
		x.addRunqueue(s, a, b)
	case stateLock, stateChannel:
		x.wait(p, s, b-ns, b)
	case stateUnknown, stateDead:
		x.lost(p, ns)
	default:
		if s.state == stateNetwork || s.state == stateSleep {
			stopped := min(x.clock.stoppedAtEnd(a, b), ns)
			x.parts.ns[CauseStopped] += dur(stopped)
			x.splitStops(a, b, stopped)
			ns -= stopped
		}
		if s.state == stateRunning && p.cause == CauseRunning {
			x.sample(p.g, a, b)
		}
		x.spend(p, ownCause[s.state], s, b, ns)
	}
}

var ownCause = [...]Cause{
	stateRunning: CauseRunning, stateSyscall: CauseSyscall, stateCgo: CauseCgo, stateNetwork: CauseNetwork,
	stateSleep: CauseSleep, stateDead: CauseUnknown,
}

// waitState returns what a wait with a reason of the trace is for. ops has the finer names, such as "mutex".
func waitState(reason string) state {
	switch reason {
	case "network":
		return stateNetwork
	case "sync", "sync.(*Cond).Wait":
		return stateLock
	case "chan send", "chan receive", "select", reasonCoroutine:
		return stateChannel
	case "sleep":
		return stateSleep
	case "GC mark assist wait for work", "wait until GC ends", "GC weak to strong wait":
		return stateAssistWait
	case "preempted":
		return stateRunnable // the collector scans its stack
	}
	return stateUnknown
}

func (x *blamer) onCPU(thread int32, a, b int64) bool {
	return x.clock.stalled(a, b) == 0 && x.kernel.off(thread, a, b) == offCPU{}
}

func (x *blamer) addOffCPU(p *piece, thread int32, a, b int64) int64 {
	off := x.kernel.off(thread, a, b)
	x.parts.ns[CauseThrottled] += dur(off.quota)
	x.parts.ns[CauseDescheduled] += dur(off.others)
	if off.others > 0 && p.cause != CauseRunning {
		x.addToSite(wait{cause: CauseDescheduled, site: p.site, holder: p.holder}, off.others, off.others)
	}
	return off.quota + off.others
}

func (x *blamer) addRunqueue(s *segment, a, b int64) {
	before := x.parts
	x.clock.wait(&x.parts, a, b)
	x.splitStops(a, b, int64(x.parts.ns[CauseStopped]-before.ns[CauseStopped]))
	queue := x.parts.ns[CauseRunqueueBusy]
	x.kernel.waited(&x.parts, &before, a, b)
	busy := int64(x.parts.ns[CauseRunqueueBusy] - before.ns[CauseRunqueueBusy])
	off := int64(min(queue-x.parts.ns[CauseRunqueueBusy], x.parts.ns[CauseDescheduled]-before.ns[CauseDescheduled]))
	if busy <= 0 && off <= 0 {
		return
	}
	holder, longest := x.clock.hog(a, b)
	if holder = cmp.Or(holder, s.site); holder == 0 {
		return
	}
	if busy > 0 {
		x.addToSite(wait{cause: CauseRunqueueBusy, holder: holder}, busy, min(longest, b-a))
	}
	if off > 0 {
		x.addToSite(wait{cause: CauseDescheduled, holder: holder}, off, off)
	}
}

// splitStops moves stops by others than the collector to CauseStoppedOther.
func (x *blamer) splitStops(a, b, stopped int64) {
	for i := len(x.clock.halts) - 1; i >= 0 && stopped > 0 && x.clock.halts[i].b > a; i-- {
		h := &x.clock.halts[i]
		ns := min(min(h.b, b)-max(h.a, a), stopped)
		if ns <= 0 {
			continue
		}
		stopped -= ns
		x.parts.ns[CauseStopped] -= dur(ns)
		x.parts.ns[CauseStoppedOther] += dur(ns)
		x.addToSite(wait{cause: CauseStoppedOther, holder: h.by, op: h.by}, ns, max(min(h.b, b)-h.a, ns))
	}
}

// followed reports whether a wait counts as what the goroutine did that ended it. A wait for a gRPC
// stream does not, because one reader ends the waits of all calls.
func (x *blamer) followed(s *segment) bool {
	return s.waker != nil && (s.state == stateLock || s.state == stateChannel) && x.known.places[s.site].op != opStream
}

// wait divides a wait for a lock or a channel. Its holder is the goroutine that ended it, which
// model.ended noted.
func (x *blamer) wait(p *piece, s *segment, a, b int64) {
	w, cause, unfollowed := s.waker, CauseLock, CauseLock
	if s.state == stateChannel {
		cause, unfollowed = CauseChannel, CauseSleep // a timer ended it
	}
	held := cause == CauseLock || s.held || x.known.places[s.site].isResource()
	push := func(a, b int64, cause Cause) {
		x.todo = append(x.todo, x.known.follow(p, s, a, b, cause, held && cause != CauseRunning))
	}
	switch {
	case x.known.places[s.site].op == opStream:
		x.spend(p, CauseChannel, s, b, b-a)
	case w == nil:
		x.spend(p, unfollowed, s, b, b-a)
	case p.cause != CauseRunning:
		push(a, b, p.cause)
	case x.seq != 0 && w.owner == x.seq: // its own child
		push(a, b, CauseRunning)
	case held:
		push(a, b, cause)
	case w.reads: // the answers to its other calls do not hold up this one
		push(a, b, CauseRunning)
	default:
		if since := x.known.worksSince(w, p.g, b); since > a {
			push(a, since, CauseChannel)
			a = since
		}
		push(a, b, CauseRunning)
	}
}

func (x *blamer) spend(p *piece, own Cause, s *segment, b, ns int64) {
	if p.cause == CauseRunning && own == CauseRunning { // it has no place
		x.parts.ns[CauseRunning] += dur(ns)
		return
	}
	if own == CauseRunning && x.profiled && p.holder != 0 {
		x.known.noteHolder(p.holder, p.g, b-ns, b)
	}
	w := x.known.spentBy(p, own, s)
	x.parts.ns[w.cause] += dur(ns)
	x.addToSite(w, ns, max(ns, p.hold))
}

func (x *blamer) add(w wait, ns int64) {
	x.parts.ns[w.cause] += dur(ns)
	x.addToSite(w, ns, ns)
}

// stretch is the longest time in one piece.
func (x *blamer) addToSite(w wait, ns, stretch int64) {
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

// own is the cause, or what the holder did.
func (s *sites) spentBy(p *piece, own Cause, seg *segment) (w wait) {
	at := seg.site
	if p.cause == CauseRunning {
		w = wait{cause: own, site: s.better(at, p.site), from: p.from, op: at}
	} else {
		w = wait{cause: p.cause, doing: own, site: p.site, from: p.from, at: s.better(at, p.holderWait), atOp: at}
		w.holder, w.writer = p.holder, p.writer
	}
	switch {
	case p.inside != 0:
		w.inside = p.inside
	case own == CauseSleep:
		w.inside = seg.inside
	}
	if w.from == w.site {
		w.from = 0
	}
	if w.op == w.site || s.places[w.op].op == "" {
		w.op = 0
	}
	if w.atOp == w.at || s.places[w.atOp].op == "" {
		w.atOp = 0
	}
	return w
}

// What the request waits for remains the same in a chain, so a convoy leads to the goroutine that
// began it. held says that the goroutine held what was waited for, and did not make it.
func (s *sites) follow(p *piece, seg *segment, a, b int64, cause Cause, held bool) piece {
	next := piece{g: seg.waker, a: a, b: b, cause: cause, site: p.site, from: p.from, inside: p.inside}
	next.held, next.holder, next.hold = p.held || held, p.holder, p.hold
	if held {
		next.hold = b - a
	}
	if p.cause == CauseRunning { // the request's own wait, or a worker's
		next.site = s.better(seg.site, p.site)
		if p.from == 0 {
			next.from = seg.site
		}
	}
	switch {
	case cause == CauseRunning:
	case held || !p.held:
		if held && s.hasOneHolder(seg) {
			next.acquireSite = seg.site
		}
		if s.name(seg.release) != "" {
			next.holder = seg.release
			if p.cause != CauseRunning { // otherwise the request itself is the writer
				next.writer = s.writerAt(seg)
			}
		}
	default:
		next.holderWait, next.writer = s.better(seg.site, p.holderWait), p.writer
	}
	return next
}
