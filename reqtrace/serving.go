package reqtrace

import "cmp"

// way is how a goroutine serves requests, other than as a connection of HTTP/1:
//
//	wayLife      created                                            over
//	             │ the request                                     │
//
//	wayTurns     waits for work │ woken    waits (its own)   │ waits for work │ woken ...
//	                            │ the request                │                │ the next one
//
// A goroutine that begins with a function of Options.Requests is wayLife until it waits for work.
type way uint8

const (
	wayNone way = iota
	wayLife
	wayTurns
)

func (x *turns) created(g *goroutine, info *stackInfo, t int64) {
	if !info.life {
		return
	}
	if p := g.parent; p != nil && !info.has(roleAsked) {
		if p.way == wayLife && p.start != 0 {
			return // gRPC within a handler of HTTP/2
		}
		g.conn, g.opened = p.id, p.born
	}
	g.way, g.phase, g.start, g.known = wayLife, phaseServing, t, true
	x.newTurn(g)
}

func (x *turns) enter(g *goroutine, info *stackInfo, t int64) {
	switch {
	case info.has(roleStreams):
		if g.serve { // it looked like HTTP/1
			g.serve = false
			g.reset(t)
		}
		g.streams = true
	case info.has(roleConn) && !g.streams && g.way == wayNone:
		g.serve = true
	case info.life && g.way == wayNone:
		g.way, g.asked = wayLife, info.has(roleAsked)
	}
	if info.has(roleMeasures) {
		g.measures = true
	}
	g.classify(info)
}

// The longest stack counts, because middleware lies outward of the handler.
func (g *goroutine) classify(info *stackInfo) {
	if info.class != 0 && info.depth > g.classDepth {
		g.class, g.classDepth = info.class, info.depth
	}
}

// A library that waits without the program on the stack was not called for a request.
func (g *goroutine) forWorkAt(s state, reason string, info *stackInfo) bool {
	if !mayBeForWork(s, reason, info) {
		return false
	}
	return info.work || g.way == wayTurns && g.asked && !info.program
}

// mayBeForWork excludes waits for a mutex or a slow client.
func mayBeForWork(s state, reason string, info *stackInfo) bool {
	if info.has(roleWrites) {
		return false
	}
	if s == stateUnknown && reason == "" {
		return true // since before the trace
	}
	return s == stateNetwork || s == stateChannel || s == stateSleep || reason == "sync.(*Cond).Wait"
}

func (x *turns) serves(g *goroutine, s state, reason string, info *stackInfo, t int64) bool {
	if g.forWorkAt(s, reason, info) {
		x.seek(g, t)
		g.forWork = true
		if info.task != 0 {
			g.asked = true
			if info.own {
				g.task = info.task
			}
		}
		return true
	}
	if g.way == wayNone {
		return false
	}
	g.forWork = false
	if s != stateAssistWait && s != stateRunnable && s != stateUnknown {
		g.did, g.seeking = true, false
		x.finishEnded(g, t)
	}
	return true
}

// A read after an answer looks for the next request.
func (x *turns) calls(g *goroutine, info *stackInfo, t int64) {
	if info.has(roleAnswer) {
		g.sent = t
		g.answer = cmp.Or(g.answer, t)
		g.phase = max(g.phase, phaseAnswered)
	}
	switch {
	case g.way == wayNone:
	case info.has(roleCloses):
		g.closed = true
	case info.has(roleWrites):
		g.answered, g.did, g.seeking = true, true, false
	case g.way == wayTurns && info.work && info.has(roleReads):
		if g.phase == phaseServing && g.answered {
			x.seek(g, t)
			x.woken(g, t)
			g.seeking = true
		} else {
			g.seeking = false
		}
	default:
		g.did, g.seeking = true, false
	}
}

func (x *turns) seek(g *goroutine, t int64) {
	first := g.way != wayTurns
	g.way, g.serve = wayTurns, false
	switch {
	case g.phase == phaseRegion: // more work for the same request
	case g.phase == phaseEnded:
		x.finish(g, t, true)
	case g.phase == phaseServing && !first && !g.seeking && !(g.closed && !g.answered):
		x.finish(g, t, false)
	case first && !g.known && len(g.segments) > 1: // busy when the trace began
		x.cut(g, t)
	default:
		g.reset(t)
	}
}

// One of wayTurns had no work if it only closed its connection.
func (x *turns) die(g *goroutine, t int64) {
	switch {
	case g.phase == phaseEnded:
		x.finish(g, t, true)
	case g.phase == phaseRegion:
	case g.way == wayNone:
		if g.serve && g.phase == phaseAnswered && g.woken != 0 {
			x.finish(g, t, false)
		}
	case g.phase == phaseServing && (g.way == wayLife || g.did && (!g.closed || g.answered)):
		x.finish(g, t, false)
	case g.phase == phaseIdle && g.way == wayLife && !g.known:
		x.cut(g, t)
	default:
		g.reset(t)
	}
}

// The trace does not show where a worker's job ends if the next one is in the channel already. But
// a usual job waits once where the last one waited:
//
//	its queue is empty   waits for a job │ sleep │ wakes one  │ waits for a job │ sleep │ wakes one
//	its queue is full    sleep │ sleep │ sleep │ sleep │ wakes one who has waited for long
//	                     jobs of others        │ its own

// jobsOf counts how often a goroutine woke another one after one wait at a place, and after
// several.
type jobsOf struct{ once, often uint32 }

func (j *jobsOf) count(g *goroutine) {
	var since int64
	if n := len(g.wakes); n > 0 {
		since = g.wakes[n-1]
	}
	switch last, before := g.lastTwo(len(g.segments)-1, since); {
	case last < 0:
	case before < 0:
		j.once++
	default:
		j.often++
	}
}

const minJobs = 8

func (j *jobsOf) steady() bool { return j.once >= minJobs && j.once >= 4*j.often }

// lastTwo returns the indexes of the last wait of g since since, and of the one before at the same
// place.
func (g *goroutine) lastTwo(i int, since int64) (last, before int) {
	last, before = -1, -1
	for ; i >= 0 && g.segments[i].start >= since; i-- {
		switch s := &g.segments[i]; {
		case s.state != stateNetwork && s.state != stateSleep && s.state != stateChannel && s.state != stateLock:
		case last < 0:
			last = i
		case s.site == g.segments[last].site:
			return last, i
		}
	}
	return last, before
}

// worksSince returns since when w, which ends a wait of g at b, works for g, or 0.
func (s *sites) worksSince(w, g *goroutine, b int64) int64 {
	since := w.wokeBefore(b)
	if !w.jobs.steady() {
		return since
	}
	last, before := w.lastTwo(w.at(b-1), since)
	if before < 0 || s.places[w.segments[last].site].owner != ownerProgram {
		return since
	}
	for i := last; i >= 0 && w.segments[i].start >= since; i-- {
		if w.segments[i].waker == g { // it was idle until g had a job for it
			return since
		}
	}
	return w.segments[before+1].start
}
