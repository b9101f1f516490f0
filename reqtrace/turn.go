package reqtrace

import "slices"

// turn is where a goroutine is in serving requests: from one wait for work to the next.
type turn struct {
	known bool   // the goroutine was seen to begin, or to end a turn
	mark  int64  // when the last turn ended, or the goroutine began
	woken int64  // when its wait for the network ended, for a connection that for the next request; 0: not yet
	awake int64  // when its last wait of any kind ended
	seq   uint64 // of the turn; 0: none yet

	serve    bool  // it is a connection of net/http's server
	trying   bool  // woken is when it looked for a request, not when it was woken
	idle     bool  // its wait is one for a request, or may be
	answered bool  // it has written to its client
	depth    int   // regions of requests that are open
	start    int64 // of the request; 0: none
	ended    bool  // its region has ended: it lasts until the next wait
	reqID    string

	poll *poll // that found its request, where the collector had kept it waiting; nil: none
	nth  int   // of what that found
}

func (g *goroutine) name(s string) {
	if g.depth > 0 {
		g.reqID = s
	}
}

// turnOf returns the turn that what g creates belongs to.
func (g *goroutine) turnOf() uint64 {
	if g.seq != 0 {
		return g.seq
	}
	return g.owner
}

// enter takes note of what a stack says about g.
func (g *goroutine) enter(info stackInfo) {
	if info.serve {
		g.serve = true
	}
	if info.entry != 0 {
		g.entry = info.entry
	}
	if info.sweep { // it gives way after each span, but not to the network
		g.gcWorker, g.gcIdle = true, true
	}
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
	n := len(g.segments)
	if n == 0 {
		return
	}
	g.awake = t
	if !g.idle || g.start != 0 || g.serve && g.woken != 0 { // or the header comes in pieces
		return
	}
	g.idle = false
	g.woken = t
	if g.poll = m.poll; g.poll != nil {
		g.nth = g.poll.n
		g.poll.n++
	}
	g.known = true
	m.turns++
	g.seq = m.turns
}

// reads takes note of a read between requests, on a connection: it finds the next request, or it
// finds nothing, and a wait follows.
func (m *model) reads(g *goroutine, info stackInfo, t int64) {
	switch {
	case !g.known && !g.answered && info.peek && len(g.segments) > 1 && g.segments[0].state == stateNetwork && g.segments[1].start == g.awake:
		// It was idle when the trace began: a request has woken it.
		m.turns++
		g.known, g.woken, g.seq = true, g.awake, m.turns
		return
	case g.start != 0 && g.ended:
		m.finish(g, t, true)
	case g.start == 0 && g.depth == 0 && g.answered && g.woken != 0:
		g.start = g.woken
		m.finish(g, t, false)
	case g.woken != 0 || g.start != 0:
		return
	}
	if g.known {
		m.turns++
		g.woken, g.seq, g.trying = t, m.turns, true
	}
}

// waits ends the request that has been answered, at the start of a wait.
func (m *model) waits(g *goroutine, s state, info stackInfo, t int64) {
	switch s {
	case stateAssistWait, stateRunnable, stateUnknown:
		return // not its own
	}
	if info.answer {
		return // its client reads slowly
	}
	if g.start != 0 {
		if g.ended {
			m.finish(g, t, true)
		}
		return
	}
	if g.depth > 0 || info.handler || !info.serve {
		return
	}
	// A connection outside of the handler, without a region.
	switch {
	case g.answered && g.woken != 0:
		g.start = g.woken
		m.finish(g, t, false)
	case g.answered && !g.known:
		m.hand(served{Request: Request{Goroutine: g.id, End: dur(t - m.origin), Cut: CutStart}}, false)
		g.reset(t)
	case g.answered, s == stateNetwork && (info.peek || g.trying && info.header): // it found nothing
		g.reset(t)
	}
}

// reset begins the wait for the next request.
func (g *goroutine) reset(t int64) {
	g.mark, g.known = t, true
	g.woken, g.start, g.seq, g.reqID, g.poll = 0, 0, 0, "", nil
	g.answered, g.ended, g.trying = false, false, false
}

func (m *model) regionBegin(g *goroutine, t int64) {
	m.marked = !m.released       // a region that comes late changes nothing
	if g.start != 0 && g.ended { // the next request was there already
		m.finish(g, t, true)
	}
	if g.depth++; g.depth > 1 {
		return
	}
	g.start = g.begin()
	if g.start == 0 {
		g.start = t
	}
	if g.seq == 0 {
		m.turns++
		g.seq = m.turns
	}
}

func (m *model) regionEnd(g *goroutine, t int64) {
	if g.depth == 0 {
		m.hand(served{Request: Request{Goroutine: g.id, End: dur(t - m.origin), Cut: CutStart}}, true)
		g.reset(t)
		return
	}
	if g.depth--; g.depth == 0 {
		g.ended = true
	}
}

// dies ends what g served.
func (m *model) dies(g *goroutine, t int64) {
	switch {
	case g.start != 0 && g.ended:
		m.finish(g, t, true)
	case g.start == 0 && g.serve && g.answered && g.woken != 0:
		g.start = g.woken
		m.finish(g, t, false)
	}
}

// finish hands out the request that g served.
func (m *model) finish(g *goroutine, t int64, marked bool) {
	r := served{Request: Request{ID: g.reqID, Goroutine: g.id, Start: dur(g.start - m.origin), End: dur(t - m.origin)}}
	if !g.known {
		r.Cut = CutStart
	} else {
		m.blamer.blame(&r, g, g.start, t)
	}
	m.hand(r, marked)
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
