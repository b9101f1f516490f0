package reqtrace

import (
	"math"
	"strings"

	"golang.org/x/exp/trace"

	"evenkeel.dev/reqtrace/internal/mark"
)

func (m *model) event(e *trace.Event) {
	t := int64(e.Time())
	if m.origin == 0 {
		m.origin, m.turns.origin = t, t
	}
	if before := m.now; m.events > 0 && m.kernel.passes(m, before, t) {
		m.turns.flush(m.kernel.settled())
	}
	m.now = max(m.now, t)
	switch e.Kind() {
	case trace.EventStateTransition:
		st := e.StateTransition()
		switch st.Resource.Kind {
		case trace.ResourceGoroutine:
			m.transition(e, &st, t)
		case trace.ResourceProc:
			_, to := st.Proc()
			m.clock.run(t, int64(st.Resource.Proc()), to == trace.ProcRunning)
		}
	case trace.EventRangeBegin, trace.EventRangeActive:
		m.rangeBegin(e, t)
	case trace.EventRangeEnd:
		m.rangeEnd(e, t)
	case trace.EventRegionBegin:
		if matches(m.region, e.Region().Type) {
			m.turns.marked = !m.turns.released // a late region changes nothing
			g := m.goroutine(int64(e.Goroutine()))
			if m.turns.begins(g, t); m.regionPattern && g.depth == 1 {
				g.route = m.sites.intern(e.Region().Type)
			}
		}
	case trace.EventRegionEnd:
		if matches(m.region, e.Region().Type) {
			m.turns.ends(m.goroutine(int64(e.Goroutine())))
		}
	case trace.EventLog:
		m.log(e.Log(), m.goroutine(int64(e.Goroutine())), t)
	case trace.EventStackSample:
		m.sample(e, t)
	case trace.EventLabel:
		m.label(e, t)
	case trace.EventMetric:
		switch v := e.Metric(); v.Name {
		case "/sched/gomaxprocs:threads":
			m.clock.max = int(min(v.Value.Uint64(), maxProcs))
			m.clock.update(t)
		case "/memory/classes/heap/objects:bytes":
			m.heap.now(v.Value.Uint64())
		}
	case trace.EventSync:
		m.sites.forget()
		if s := e.Sync().ClockSnapshot; s != nil {
			m.snapshot = s
			m.kernel.sync(s)
		}
	}
	if m.events++; m.events >= m.pruneAt {
		m.prune()
		m.pruneAt = m.events + max(pruneEvery, prunePer*(len(m.goroutines)+len(m.dead)))
	}
}

func (m *model) log(l trace.Log, g *goroutine, t int64) {
	began := g.phase == phaseRegion || !g.known // otherwise before the trace, or it has no region
	switch {
	case l.Category == mark.ID && began:
		g.reqID = l.Message
	case l.Category == mark.Caller && began:
		g.caller = l.Message
	case l.Category == mark.Class && began:
		g.route = m.sites.intern(l.Message)
	case l.Category == mark.Call:
		m.turns.marksCall(g, Call{ID: l.Message, Start: dur(t - m.origin)})
	}
}

func (m *model) label(e *trace.Event, t int64) {
	l := e.Label()
	if l.Resource.Kind != trace.ResourceGoroutine || !strings.HasPrefix(l.Label, "GC (") {
		return
	}
	g := m.goroutine(int64(l.Resource.Goroutine()))
	g.gcWorker = true
	if g.last() == stateRunning {
		m.hold(e, g, t)
	}
}

func (m *model) transition(e *trace.Event, st *trace.StateTransition, t int64) {
	g := m.goroutine(int64(st.Resource.Goroutine()))
	from, to := st.Goroutine()
	if from == to {
		return
	}
	began := t
	if from == trace.GoUndetermined && len(g.segments) == 0 {
		began = m.origin // the first event of a goroutine tells its state
	}
	info := &noStack
	if from == trace.GoRunning || to == trace.GoWaiting || to == trace.GoSyscall {
		info = m.sites.look(g, st.Stack)
		m.enter(g, info, t)
	}
	if from == trace.GoRunning {
		if st.Reason == "preempted" {
			g.stops = append(g.stops, stackSample{t - 1, info.site}) // until now
		}
		if p := int64(e.Proc()); p != int64(trace.NoProc) {
			m.clock.leaves(m.clock.proc(p), m.sites.occupant(g), to == trace.GoSyscall, t)
		}
	}
	if from == trace.GoRunning || from == trace.GoSyscall {
		m.kernel.ends(g.thread, t)
	}
	switch to {
	case trace.GoRunnable:
		m.runnable(e, g, from, t, st)
	case trace.GoRunning:
		if id := int64(e.Proc()); id != int64(trace.NoProc) {
			p := m.clock.proc(id)
			m.clock.hold(t, p, g.marks())
			if n := len(g.segments); n > 0 && g.last() == stateRunnable {
				g.segments[n-1].site = p.last
			}
			p.takes(g, from, t)
		}
		if g.thread = 0; len(m.kernel.waits) > 0 && from != trace.GoUndetermined {
			g.thread = int32(e.Thread())
			m.kernel.starts(g.thread, false, t)
		}
		m.run(g, began)
	case trace.GoWaiting:
		reason := st.Reason
		switch {
		case from == trace.GoNotExist:
			m.born(e, g, t, st)
		case from == trace.GoRunning && reason == "": // a coroutine takes over (iter.Pull)
			reason = reasonCoroutine
		}
		m.waits(g, reason, info, began, t)
	case trace.GoSyscall:
		m.calls(g, info, began, t)
	case trace.GoNotExist:
		m.push(g, t, stateDead, 0)
		m.turns.die(g, t)
		delete(m.goroutines, g.id)
		m.dead = append(m.dead, g)
		m.recent[uint64(g.id)%uint64(len(m.recent))] = nil
	}
}

// began may be before t.
func (m *model) waits(g *goroutine, reason string, info *stackInfo, began, t int64) {
	s := waitState(reason)
	if info.has(roleGC) && s == stateLock {
		s = stateAssistWait // the collector's own semaphores
	}
	m.push(g, began, s, info.site)
	last := &g.segments[len(g.segments)-1]
	last.held, last.inside = reason == "chan send", info.inside
	g.beats = info.has(roleBeat)
	if g.calling = info.has(roleCalls); !g.calling {
		g.callAt = 0
	} else if g.callAt == 0 {
		g.callAt = g.sends(began)
	}
	if info.candidate != 0 && g.way != wayLife && mayBeForWork(s, reason, info) {
		m.sites.forWork[info.candidate]++
	}
	m.turns.waits(g, s, reason, info, t)
	g.segments[len(g.segments)-1].idle = g.forWork && (g.serve || g.way == wayTurns)
}

func (m *model) calls(g *goroutine, info *stackInfo, began, t int64) {
	s := stateSyscall
	switch {
	case info.cgo:
		s = stateCgo
	case m.sites.places[info.site].op == opSQLite: // it sleeps in a system call
		s = stateSleep
	}
	m.push(g, began, s, info.site)
	last := &g.segments[len(g.segments)-1]
	last.inside, last.thread = info.inside, g.thread
	m.kernel.starts(g.thread, true, t)
	g.talks(info, t)
	m.commits(g, info, t)
	m.turns.calls(g, info, t)
	if g.serve && info.between() {
		m.turns.reads(g, info, t)
	}
}

func (m *model) runnable(e *trace.Event, g *goroutine, from trace.GoState, t int64, st *trace.StateTransition) {
	by := m.other(e, g)
	switch from {
	case trace.GoNotExist:
		m.born(e, g, t, st)
	case trace.GoWaiting:
		n := len(g.segments)
		switch {
		case by != nil:
			if !by.serving() {
				by.jobs.count(by)
			}
			if len(by.wakes) == cap(by.wakes) {
				by.prune(m.horizon)
			}
			by.wakes = append(by.wakes, t)
			if n > 0 {
				m.ended(&g.segments[n-1], g, by, e)
			}
		case n > 0 && g.last() == stateUnknown: // since before the trace
			g.segments[n-1].state = stateNetwork
		}
		if by == nil {
			if t-m.looked >= oneLook {
				m.looks++
			}
			m.looked = t
		}
		m.turns.wakes(g, t)
	}
	m.push(g, t, stateRunnable, 0)
}

func (m *model) ended(s *segment, g, by *goroutine, e *trace.Event) {
	s.waker = by
	if s.state != stateLock && s.state != stateChannel && s.state != stateUnknown {
		return
	}
	info := m.sites.look(by, e.Stack())
	s.release = info.site
	if m.turns.findCalls {
		m.answers(g, by, info, int64(e.Time()))
	}
	// While it serves a request, a goroutine does not work for another one. So it released
	// something.
	if mine := g.turnOf(); by.serving() && mine != 0 && by.turnOf() != mine {
		s.held = true
	}
}

func (m *model) born(e *trace.Event, g *goroutine, t int64, st *trace.StateTransition) {
	g.born, g.parent = t, m.other(e, g)
	if g.parent != nil {
		g.owner, g.connects, g.opener = g.parent.turnOf(), g.parent.connects, g.parent.opener
	}
	g.ofNobody = g.parent == nil
	g.mark, g.known = t, true
	info := m.sites.look(g, st.Stack)
	m.enter(g, info, t)
	m.turns.created(g, info, t)
}

func (m *model) enter(g *goroutine, info *stackInfo, t int64) {
	if info.entry != 0 {
		g.entry = info.entry
	}
	if info.named {
		g.place = info.site
	}
	g.reads = g.reads || info.has(roleReadLoop)
	if info.has(roleSweep) { // it gives way after each span
		g.gcWorker = true
	}
	m.turns.enter(g, info, t)
}

func (m *model) other(e *trace.Event, g *goroutine) *goroutine {
	if id := e.Goroutine(); id != trace.NoGoroutine && int64(id) != g.id {
		return m.goroutine(int64(id))
	}
	return nil
}

// the trace has no reason for it
const reasonCoroutine = "coroutine"

const (
	rangeMark   = "GC concurrent mark phase"
	rangeAssist = "GC mark assist"
	rangeSweep  = "GC incremental sweep"
	rangeStop   = "stop-the-world ("    // and why
	rangeStopGC = "stop-the-world (GC " // sweep termination, mark termination
)

func (m *model) rangeBegin(e *trace.Event, t int64) {
	r := e.Range()
	if r.Name == rangeMark {
		if m.marking == 0 {
			m.marking = t
		}
		return
	}
	g := m.rangeOf(e, r)
	if g == nil {
		return
	}
	running := g.last() == stateRunning
	switch {
	case strings.HasPrefix(r.Name, rangeStop) && g.stopping == 0:
		g.stopping++
		if m.clock.stops++; m.clock.stops == 1 {
			m.stopping = t
		}
		g.stopAt = m.sites.asker(r.Name, e.Stack())
		if !strings.HasPrefix(r.Name, rangeStopGC) {
			m.clock.halts = append(m.clock.halts, halt{a: t, b: math.MaxInt64, by: g.stopAt})
		}
		m.clock.update(t)
		if running {
			m.push(g, t, stateStopping, g.stopAt)
		}
	case r.Name == rangeAssist:
		g.assisting = true
		g.assistAt = m.sites.look(g, e.Stack()).site
		if running {
			m.hold(e, g, t)
			m.run(g, t)
		}
	case r.Name == rangeSweep && running:
		g.sweeping = true
		m.hold(e, g, t)
		m.push(g, t, stateSweep, m.sites.look(g, e.Stack()).site)
	}
}

func (m *model) rangeEnd(e *trace.Event, t int64) {
	r := e.Range()
	if r.Name == rangeMark {
		if m.marking != 0 {
			m.collected(m.span(m.marking, t))
		}
		m.marking = 0
		return
	}
	g := m.rangeOf(e, r)
	if g == nil {
		return
	}
	switch {
	case strings.HasPrefix(r.Name, rangeStop) && g.stopping > 0:
		g.stopping--
		m.clock.resume(g.stopAt, t)
		if m.clock.stops--; m.clock.stops == 0 {
			s := m.span(m.stopping, t)
			s.Stopped = true
			m.collected(s)
		}
		m.clock.update(t)
	case r.Name == rangeAssist:
		g.assisting = false
	case r.Name == rangeSweep:
		g.sweeping = false
	default:
		return
	}
	if s := g.last(); s == stateStopping || s == stateAssistMark || s == stateSweep {
		m.hold(e, g, t)
		m.run(g, t)
	}
}

func (m *model) collected(s Span) {
	if len(m.gc) < maxSpans {
		m.gc = append(m.gc, s)
	}
}

func (m *model) hold(e *trace.Event, g *goroutine, t int64) {
	if e.Proc() != trace.NoProc && int64(e.Goroutine()) == g.id {
		m.clock.hold(t, m.clock.proc(int64(e.Proc())), g.marks())
	}
}

func (m *model) rangeOf(e *trace.Event, r trace.Range) *goroutine {
	id := e.Goroutine()
	if r.Scope.Kind == trace.ResourceGoroutine {
		id = r.Scope.Goroutine()
	}
	if id == trace.NoGoroutine {
		return nil
	}
	return m.goroutine(int64(id))
}

// asker returns what asked for a stop of the world.
func (s *sites) asker(name string, stack trace.Stack) siteID {
	if strings.HasPrefix(name, rangeStopGC) {
		return s.intern(name)
	}
	p := place{op: strings.TrimSuffix(strings.TrimPrefix(name, rangeStop), ")"), stops: true}
	for f := range stack.Frames() {
		if f.Func == "runtime.updateMaxProcsGoroutine" {
			break
		}
		if root := packageOf(f.Func); root != "runtime" && !strings.HasPrefix(root, "runtime/") &&
			!strings.HasPrefix(root, "internal/runtime/") {
			p.site, p.owner = siteOf(&f), ownerOf(&f)
			break
		}
	}
	if p.site == "" {
		p.site = "the runtime itself"
	}
	return s.internPlace(p)
}
