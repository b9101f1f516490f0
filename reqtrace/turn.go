package reqtrace

import (
	"cmp"
	"slices"
)

// A turn is what a goroutine does from one wait for work to the next. If it serves a request, the
// turn's times are the request's. Its phase says how far it is:
//
//	              turnWoken
//	idle ──────────────────────────> woken ───────────────────┐
//	 ^ │  turnLooks                    │                      │ turnBegins
//	 │ ├────────────────> looking ─────┤ turnAnswers          │ (from each of the four)
//	 │ └────────────┐        │         v                      v
//	 │              └────────┴─────> answered ────────────> region ──> and again: depth
//	 │                                 │                      │
//	 │                                 │                      │ turnEnds, of the outermost
//	 │                                 │                      v
//	 └─────────────────────────────────┴──────────────────── ended
//
// The way back to idle hands out a request: from ended at any wait of its own, from answered (where
// there is no region) at a wait outside of the handler, from both when the connection looks for the next
// request or the goroutine ends. From looking and woken it leads back without one, at a wait
// for a request: none had come.
//
// Invariants:
//   - start is set in region and ended, and nowhere else; depth is above 0 in region, and nowhere else.
//   - woken is 0 in idle. In woken it is the wake-up, in looking the look; the later phases have it from there.
//   - What is handed out with known unset began before the trace: it is cut, and not taken apart.
//   - No request of this turn needs what was before [goroutine.begin]: from there on prune keeps the past.
//
// Phases change in [model.step], and in [goroutine.reset], which leads back to idle.
type phase uint8

const (
	phaseIdle     phase = iota // it waits for work, or nothing is known of it yet
	phaseLooking               // a connection that has looked for the next request, and may have found none
	phaseWoken                 // its wait for work has ended
	phaseAnswered              // a connection without a region that has written to its client
	phaseRegion                // a request's region is open
	phaseEnded                 // the region has ended: the request lasts until the next wait
)

// turnEvent is what takes a turn from a phase to another.
type turnEvent uint8

const (
	turnWoken   turnEvent = iota // a wait that was for work, or may have been, has ended
	turnLooks                    // a connection reads outside of its handler
	turnAnswers                  // it writes to its client
	turnBegins                   // a region begins
	turnEnds                     // a region ends
	turnWaits                    // a wait of its own begins; where, does not matter
	turnOutside                  // likewise, of a connection outside of its handler
	turnNothing                  // likewise, for the next request: there was none yet
	turnLeisure                  // likewise, of no connection, for time or a channel: what woke it before was no request
	turnDies                     // the goroutine ends
)

// turn is a turn under way. Times are nanoseconds of the trace's clock, 0: not yet.
type turn struct {
	phase phase
	known bool   // its begin is in the trace
	mark  int64  // when the turn before ended, or the goroutine began
	woken int64  // when its request was there
	awake int64  // when its last wait of any kind ended
	seq   uint64 // of the turn; 0: none yet
	start int64  // of the request
	depth int    // regions of requests that are open
	reqID string

	poll *poll // that found its request, where the collector had kept it waiting; nil: none
	nth  int   // of what that found
}

// step takes g's turn to its next phase.
func (m *model) step(g *goroutine, e turnEvent, t int64) {
	switch e {
	case turnWoken:
		// A connection that has a request already waits for the rest of it.
		if g.start == 0 && !(g.serve && g.woken != 0) {
			g.phase, g.known, g.woken = phaseWoken, true, t
			m.newTurn(g)
		}
	case turnLooks:
		switch {
		case g.phase == phaseEnded:
			m.finish(g, t, true)
		case g.phase == phaseAnswered && g.woken != 0:
			m.finish(g, t, false)
		}
		if g.known && g.woken == 0 && g.start == 0 {
			g.phase, g.woken = phaseLooking, t
			m.newTurn(g)
		}
	case turnAnswers:
		if g.phase < phaseAnswered {
			g.phase = phaseAnswered
		}
	case turnBegins:
		if g.phase == phaseEnded { // the next request was there already
			m.finish(g, t, true)
		}
		if g.depth++; g.depth > 1 {
			return
		}
		g.phase, g.start = phaseRegion, cmp.Or(g.begin(), t)
		if g.seq == 0 {
			m.newTurn(g)
		}
	case turnEnds:
		if g.phase != phaseRegion { // it began before the trace
			m.cut(g, t, true)
		} else if g.depth--; g.depth == 0 {
			g.phase = phaseEnded
		}
	case turnWaits, turnOutside, turnNothing, turnDies:
		switch {
		case g.phase == phaseEnded:
			m.finish(g, t, true)
		case g.phase == phaseRegion, e == turnWaits, e == turnDies && !g.serve:
		case g.phase == phaseAnswered && g.woken != 0:
			m.finish(g, t, false)
		case e == turnDies:
		case g.phase == phaseAnswered && !g.known:
			m.cut(g, t, false)
		case g.phase == phaseAnswered, e == turnNothing:
			g.reset(t)
		}
	case turnLeisure:
		if g.start == 0 {
			g.phase, g.woken = phaseIdle, 0
		}
	}
}

// newTurn gives g's turn a number.
func (m *model) newTurn(g *goroutine) {
	m.turns++
	g.seq = m.turns
}

// reset begins the wait for the next request.
func (g *goroutine) reset(t int64) {
	g.turn = turn{known: true, mark: t, awake: g.awake}
}

// turnOf returns the turn that what g creates belongs to.
func (g *goroutine) turnOf() uint64 {
	if g.seq != 0 {
		return g.seq
	}
	return g.owner
}

// since returns from when on a request that g serves may need the past.
func (g *goroutine) since(now, patience int64) (int64, bool) {
	switch {
	case g.start != 0:
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
	case stateRunning, stateRunnable, stateSyscall, stateCgo, stateAssistMark, stateAssistWait, stateSweep, stateStopping:
	default:
		if now-last.start > patience || g.serve {
			return 0, false
		}
	}
	from := g.begin()
	if now-from > 20*patience { // a goroutine that never waits for work
		return 0, false
	}
	return from, true
}

// begin returns when the turn began.
func (g *goroutine) begin() int64 {
	switch {
	case g.woken > g.mark:
		return g.woken
	case g.awake > g.mark && !g.serve:
		return g.awake
	}
	return g.mark
}

// wakes takes note of the end of a wait.
func (m *model) wakes(g *goroutine, t int64) {
	if len(g.segments) == 0 {
		return
	}
	g.awake = t
	if !g.forWork {
		return
	}
	before := g.seq
	if m.step(g, turnWoken, t); g.seq == before {
		return
	}
	g.forWork = false
	if g.poll = m.poll; g.poll != nil {
		g.nth = g.poll.n
		g.poll.n++
	}
}

// reads takes note of a read between requests, on a connection: it finds the next request, or it
// finds nothing, and a wait follows.
func (m *model) reads(g *goroutine, info stackInfo, t int64) {
	idled := g.phase == phaseIdle && !g.known && info.peek && len(g.segments) > 1 && g.segments[0].state == stateNetwork && g.segments[1].start == g.awake
	if idled { // it was idle when the trace began: a request has woken it
		m.step(g, turnWoken, g.awake)
		return
	}
	m.step(g, turnLooks, t)
}

// waits takes note of the begin of a wait.
func (m *model) waits(g *goroutine, s state, reason string, info stackInfo, t int64) {
	g.forWork = s == stateNetwork && (!info.serve || !info.handler && (info.peek || info.header))
	if !info.serve && (s == stateSleep || reason == "chan receive" || reason == "select") {
		m.step(g, turnLeisure, t)
	}
	switch {
	case s == stateAssistWait, s == stateRunnable, s == stateUnknown: // not its own
	case info.answer: // its client reads slowly
	case !info.serve, info.handler:
		m.step(g, turnWaits, t)
	case s == stateNetwork && (info.peek || info.header && g.phase == phaseLooking):
		m.step(g, turnNothing, t)
	default:
		m.step(g, turnOutside, t)
	}
}

// finish hands out the request that g served, and resets its turn. Without a region it began when it
// was there.
func (m *model) finish(g *goroutine, t int64, marked bool) {
	start := cmp.Or(g.start, g.woken)
	r := served{Request: Request{ID: g.reqID, Goroutine: g.id, Start: dur(start - m.origin), End: dur(t - m.origin)}}
	if !g.known {
		r.Cut = CutStart
	} else {
		m.blamer.blame(&r, g, start, t)
	}
	m.hand(r, marked)
	g.reset(t)
}

// cut hands out a request that began before the trace, and resets g's turn.
func (m *model) cut(g *goroutine, t int64, marked bool) {
	m.hand(served{Request: Request{Goroutine: g.id, End: dur(t - m.origin), Cut: CutStart}}, marked)
	g.reset(t)
}

// maxHeld is how many turns of connections are kept back until it is clear that the trace has no
// regions of requests.
const maxHeld = 1024

// hand hands r out: turns without a region only where the trace has no regions. Those that were
// under way when it began may have had theirs before.
func (m *model) hand(r served, marked bool) {
	switch {
	case marked:
		for _, h := range m.held {
			m.leaveOut(h)
		}
		m.held = nil
		m.done = append(m.done, r)
	case !m.anybodys:
	case m.released:
		m.done = append(m.done, r)
	case m.marked:
		m.leaveOut(r)
	default:
		r.sites, r.path = slices.Clone(r.sites), slices.Clone(r.path)
		m.held = append(m.held, r)
		if len(m.held) == maxHeld {
			m.done, m.held, m.released = append(m.done, m.held...), nil, true
		}
	}
}

// leaveOut counts a turn without a region.
func (m *model) leaveOut(r served) {
	if r.Cut == CutStart {
		m.done = append(m.done, r)
	} else {
		m.unmarked++
	}
}

// end hands out what the end of the trace cuts off, and what was kept back.
func (m *model) end() {
	if !m.marked {
		m.done = append(m.done, m.held...)
	}
	m.held = nil
	for _, g := range m.goroutines {
		switch {
		case g.start != 0, g.serve && !m.marked && g.woken != 0 && m.anybodys:
			m.done = append(m.done, served{Request: Request{ID: g.reqID, Goroutine: g.id, Start: dur(g.begin() - m.origin), End: dur(m.now - m.origin), Cut: CutEnd}})
		}
	}
}
