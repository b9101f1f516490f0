package reqtrace

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A turn is what a goroutine does from one wait for work to the next. Its phase says how far the
// request in it is:
//
//	              woken
//	idle ──────────────────────────> woken ───────────────────┐
//	 ^ │  looks                        │                      │ begins
//	 │ ├────────────────> looking ─────┤ it answers           │ (from each of the four)
//	 │ └────────────┐        │         v                      v
//	 │              └────────┴─────> answered ────────────> region ──> and again: depth
//	 │                                 │                      │
//	 │                                 │                      │ ends, of the outermost
//	 │                                 │                      v
//	 └─────────────────────────────────┴──────────────────── ended
//
// The way back to idle hands out a request: from ended at any wait of its own, from answered at a
// wait outside of the handler. So does a look for the next request, or the goroutine's end.
//
// A goroutine of another way (serving.go) has the same turn:
//
//	        created; woken: there is work
//	idle ───────────────────────────────────────────────────────> serving ──> region, ended: as above
//	 ^                                                               │
//	 └───────────────────────────────────────────────────────────────┘
//	        seek: it waits for work; die
//
// Invariants:
//   - start is set in serving, region and ended only. depth is above 0 in region only.
//   - woken is 0 in idle, the wake-up in woken, and the look in looking. Later phases keep it.
//   - A request with known unset began before the trace, and is not taken apart.
//   - No request of this turn needs what was before [goroutine.begin].
type phase uint8

const (
	phaseIdle    phase = iota
	phaseLooking       // for the next request
	phaseWoken
	phaseAnswered // without a region
	phaseRegion
	phaseServing // of another way
	phaseEnded   // until the next wait
)

// turn is a turn under way. A time of 0 is not yet.
type turn struct {
	phase phase
	known bool  // the trace has its begin
	mark  int64 // end of the turn before, or birth
	woken int64
	awake int64
	seq   uint64 // number of the turn; 0: none yet
	start int64
	depth int
	reqID string

	caller string
	calls  []Call // by its goroutine and those that work for it
	called int    // number in the request's calls of the marked one under way; 0: none
	answer int64  // when it first wrote to the client
	sent   int64  // when it last did

	class      siteID // the handler's function
	classDepth uint8
	route      siteID // class by the program itself
	measures   bool   // roleMeasures

	// Of wayLife and wayTurns:
	did      bool // it waited, or called something
	answered bool
	closed   bool
	seeking  bool // it looked for a request, and nothing came of it yet
}

type turns struct {
	classes   classes
	anyServer bool // without regions, net/http's turns are requests
	findCalls bool // without marks too
	origin    int64
	blamer    blamer
	kernel    *kernel

	pending   []served // until the kernel's counts are known
	began     uint64
	marked    bool
	undecided []served // until the trace has a region
	released  bool
	unmarked  int
	measured  int // left out (roleMeasures)
	done      []served
}

// looks says that g looks for the next request of its connection.
func (x *turns) looks(g *goroutine, t int64) {
	switch {
	case g.phase == phaseEnded:
		x.finish(g, t, true)
	case g.phase == phaseAnswered && g.woken != 0:
		x.finish(g, t, false)
	}
	if g.known && g.woken == 0 && g.start == 0 {
		g.phase, g.woken = phaseLooking, t
		x.newTurn(g)
	}
}

func (x *turns) begins(g *goroutine, t int64) {
	x.finishEnded(g, t)
	if g.depth++; g.depth > 1 {
		return
	}
	g.phase, g.start = phaseRegion, cmp.Or(g.start, g.begin(), t)
	if g.seq == 0 {
		x.newTurn(g)
	}
}

func (x *turns) ends(g *goroutine) {
	if g.phase != phaseRegion { // it began before the trace
		if g.known { // it belongs to another request
			g.reqID, g.caller = "", ""
		}
		g.phase, g.known, g.start = phaseEnded, false, x.origin
	} else if g.depth--; g.depth == 0 {
		g.phase = phaseEnded
	}
}

func (x *turns) finishEnded(g *goroutine, t int64) {
	if g.phase == phaseEnded {
		x.finish(g, t, true)
	}
}

// outside says that a connection waits outside of its handler, maybe for the next request.
func (x *turns) outside(g *goroutine, forNext bool, t int64) {
	switch {
	case g.phase == phaseEnded:
		x.finish(g, t, true)
	case g.phase == phaseRegion:
	case g.phase == phaseAnswered && g.woken != 0:
		x.finish(g, t, false)
	case g.phase == phaseAnswered && !g.known:
		x.cut(g, t)
	case g.phase == phaseAnswered, forNext:
		g.reset(t)
	}
}

func (x *turns) woken(g *goroutine, t int64) {
	switch {
	case g.way == wayTurns && g.phase == phaseIdle:
		g.phase, g.known, g.woken, g.start = phaseServing, true, t, t
	case g.way != wayTurns && g.start == 0 && !(g.serve && g.woken != 0):
		g.phase, g.known, g.woken = phaseWoken, true, t
	default: // the rest of a request came
		return
	}
	x.newTurn(g)
}

func (x *turns) newTurn(g *goroutine) {
	x.began++
	g.seq = x.began
	g.class, g.classDepth, g.route = 0, 0, 0
}

func (g *goroutine) reset(t int64) {
	g.turn = turn{known: true, mark: t, awake: g.awake}
}

func (g *goroutine) turnOf() uint64 {
	if g.seq != 0 {
		return g.seq
	}
	return g.owner
}

const maxFollowed = int64(time.Minute)

func (g *goroutine) serving() bool { return g.start != 0 || g.serve && g.woken != 0 }

// since returns from when on a request may need the past.
func (g *goroutine) since(now, patience int64) (int64, bool) {
	switch {
	case g.measures:
		return 0, false
	case g.start != 0 && (g.phase != phaseServing || now-g.start < maxFollowed):
		return g.start, true
	case g.serve && g.woken != 0:
		return g.woken, true
	}
	n := len(g.segments)
	if n == 0 {
		return 0, false
	}
	last := g.segments[n-1]
	switch last.state {
	case stateRunning, stateRunnable, stateSyscall, stateCgo, stateAssistMark, stateAssistWait, stateSweep,
		stateStopping:
	default:
		if now-last.start > patience || g.serve {
			return 0, false
		}
	}
	from := g.begin()
	if now-from > 20*patience { // it never waits for work
		return 0, false
	}
	return from, true
}

func (g *goroutine) begin() int64 {
	switch {
	case g.woken > g.mark:
		return g.woken
	case g.awake > g.mark && !g.serve:
		return g.awake
	}
	return g.mark
}

func (x *turns) wakes(g *goroutine, t int64) {
	if len(g.segments) == 0 {
		return
	}
	g.awake = t
	if !g.forWork {
		return
	}
	before := g.seq
	if x.woken(g, t); g.seq != before {
		g.forWork = false
	}
}

// reads records a read of a connection between requests.
func (x *turns) reads(g *goroutine, info *stackInfo, t int64) {
	idled := g.phase == phaseIdle && !g.known && info.has(rolePeek) && len(g.segments) > 1 &&
		g.segments[0].state == stateNetwork && g.segments[1].start == g.awake
	if idled { // idle when the trace began, and woken by a request
		x.woken(g, g.awake)
		return
	}
	x.looks(g, t)
}

func (x *turns) waits(g *goroutine, s state, reason string, info *stackInfo, t int64) {
	if x.serves(g, s, reason, info, t) {
		return
	}
	g.forWork = s == stateNetwork && (!info.has(roleConn) || info.between())
	if !info.has(roleConn) && (s == stateSleep || reason == "chan receive" || reason == "select") {
		if g.start == 0 {
			g.phase, g.woken = phaseIdle, 0
		}
	}
	switch {
	case s == stateAssistWait, s == stateRunnable, s == stateUnknown:
	case info.has(roleAnswer): // a slow client
	case !info.has(roleConn), info.has(roleHandler):
		x.finishEnded(g, t)
	default:
		forNext := info.has(rolePeek) || info.has(roleHeader) && g.phase == phaseLooking
		x.outside(g, s == stateNetwork && forNext, t)
	}
}

func (x *turns) finish(g *goroutine, t int64, marked bool) {
	r := x.served(g, cmp.Or(g.start, g.woken), t)
	if r.marked = marked; !g.known {
		r.Cut = CutStart
	}
	if g.measures {
		x.measured++
	} else {
		x.over(r)
	}
	g.reset(t)
}

// over takes a request apart once the kernel's counts are known.
func (x *turns) over(r served) {
	x.pending = append(x.pending, r)
	x.flush(x.kernel.settled())
}

func (x *turns) flush(t int64) {
	n := 0
	for n < len(x.pending) && x.pending[n].End <= dur(t-x.origin) {
		if done := len(x.done); done > 0 {
			x.done[done-1].detach()
		}
		r := &x.pending[n]
		if r.Cut == "" {
			x.blamer.blame(r, x.origin+int64(r.Start), x.origin+int64(r.End))
		}
		x.hand(r)
		n++
	}
	x.pending = slices.Delete(x.pending, 0, n)
}

// detach copies what the next request reuses.
func (r *served) detach() {
	r.sites, r.path, r.samples = slices.Clone(r.sites), slices.Clone(r.path), slices.Clone(r.samples)
}

func (x *turns) since(now int64) int64 {
	for i := range x.pending {
		if r := &x.pending[i]; r.Cut == "" {
			now = min(now, x.origin+int64(r.Start))
		}
	}
	return now
}

func (x *turns) cut(g *goroutine, t int64) {
	r := x.served(g, x.origin, t)
	r.ID, r.Cut = "", CutStart
	if !g.measures {
		x.over(r)
	}
	g.reset(t)
}

// turns that are kept until the trace has a region
const maxUndecided = 1024

// hand hands r out. Turns without a region count if the trace has no regions, or Options.Requests
// asks for them. Those cut at the start may have had their region before.
func (x *turns) hand(r *served) {
	if r.marked {
		for i := range x.undecided {
			x.leaveOut(&x.undecided[i])
		}
		x.undecided = nil
	}
	switch {
	case r.marked, r.asked, x.anyServer && x.released:
		x.done = append(x.done, *r)
	case !x.anyServer:
	case x.marked:
		x.leaveOut(r)
	default:
		r.detach()
		x.undecided = append(x.undecided, *r)
		if len(x.undecided) == maxUndecided {
			x.done, x.undecided, x.released = append(x.done, x.undecided...), nil, true
		}
	}
}

func (x *turns) leaveOut(r *served) {
	if r.Cut == CutStart {
		x.done = append(x.done, *r)
	} else {
		x.unmarked++
	}
}

// end hands out what the end of the trace cuts off.
func (x *turns) end(goroutines map[int64]*goroutine, now int64) {
	x.flush(math.MaxInt64)
	if !x.marked {
		x.done = append(x.done, x.undecided...)
	}
	x.undecided = nil
	for _, g := range goroutines {
		start, found := g.begin(), !x.marked && x.anyServer
		switch {
		case g.measures, g.phase == phaseServing && g.seeking:
			continue
		case g.phase == phaseServing:
			start, found = g.start, found || g.asked
		case g.start != 0:
			found = true
		default:
			found = found && g.serve && g.woken != 0
		}
		if found {
			r := x.served(g, start, now)
			r.Cut = CutEnd
			x.done = append(x.done, r)
		}
	}
}

func (x *turns) served(g *goroutine, start, end int64) served {
	class := cmp.Or(g.route, g.task, g.class)
	q := Request{
		ID: g.reqID, Goroutine: g.id, Start: dur(start - x.origin), End: dur(end - x.origin),
		Caller: g.caller, Calls: g.calls,
	}
	if g.sent > 0 {
		q.Sent = dur(g.sent - x.origin)
	}
	if x.findCalls {
		x.connection(&q, g)
	}
	return served{Request: q, g: g, seq: g.seq, asked: g.asked, class: class, other: !x.classes.wants(class)}
}
