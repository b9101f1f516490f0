package reqtrace

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"golang.org/x/exp/trace"

	"evenkeel.dev/reqtrace/region"
)

func dur(ns int64) time.Duration { return time.Duration(ns) }

// model follows a trace event by event and finds the requests in it.
type model struct {
	region   string // type of the regions that are requests
	anybodys bool   // where there are none, net/http's turns are

	origin     int64 // time of the first event
	now        int64
	events     int
	goroutines map[int64]*goroutine
	dead       []*goroutine   // those that a wait may still name
	spare      []*goroutine   // those that none can name, for use again
	recent     [64]*goroutine // of goroutines, by the end of their numbers: most events are of few
	clock      clock
	sites      *sites
	blamer     blamer
	replay     *replay // nil: none
	looked     int64   // when the network was last seen to be looked at with success
	poll       *poll   // that is under way; nil: the collector had not held it up

	turns    uint64   // that began
	marked   bool     // the trace has regions of requests
	held     []served // turns of connections, kept back
	released bool     // the trace has no regions: turns are requests
	unmarked int      // turns that were left out, as the trace has regions
	done     []served // finished, to be handed out
	gc       []Span
	marking  int64 // when the cycle's concurrent mark began; 0: none
	stopping int64
}

// Span is a time in which the collector marked, or in which the world was stopped.
type Span struct {
	Start   time.Duration `json:"start_ns"`
	End     time.Duration `json:"end_ns"`
	Stopped bool          `json:"stopped,omitempty"`
}

const maxProcs = 1 << 16 // more than any machine has: a corrupt trace may say anything

const (
	pruneEvery       = 1 << 14 // events
	maxSpare         = 1 << 12 // goroutines
	maxSpareSegments = 64      // of each: more room than that is given back
)

func newModel(o Options) *model {
	m := &model{
		region: cmp.Or(o.Region, region.Name), anybodys: o.Region == "",
		goroutines: map[int64]*goroutine{}, sites: newSites(),
	}
	m.blamer.m = m
	return m
}

// event takes the next event of the trace.
func (m *model) event(e *trace.Event) {
	t := int64(e.Time())
	if m.origin == 0 {
		m.origin = t
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
		if e.Region().Type == m.region {
			m.marked = !m.released // a region that comes late changes nothing
			m.step(m.goroutine(int64(e.Goroutine())), turnBegins, t)
		}
	case trace.EventRegionEnd:
		if e.Region().Type == m.region {
			m.step(m.goroutine(int64(e.Goroutine())), turnEnds, t)
		}
	case trace.EventLog:
		if l := e.Log(); l.Category == region.IDCategory {
			if g := m.goroutine(int64(e.Goroutine())); g.phase == phaseRegion {
				g.reqID = l.Message
			}
		}
	case trace.EventLabel:
		m.label(e, t)
	case trace.EventMetric:
		if v := e.Metric(); v.Name == "/sched/gomaxprocs:threads" {
			m.clock.max = int(min(v.Value.Uint64(), maxProcs))
			m.clock.update(t)
		}
	case trace.EventSync:
		m.sites.forget()
	}
	if m.events++; m.events%pruneEvery == 0 {
		m.prune()
	}
}

func (m *model) goroutine(id int64) *goroutine {
	recent := &m.recent[uint64(id)%uint64(len(m.recent))]
	if g := *recent; g != nil && g.id == id {
		return g
	}
	g := m.goroutines[id]
	if g == nil {
		g = m.newGoroutine(id)
		m.goroutines[id] = g
	}
	*recent = g
	return g
}

func (m *model) newGoroutine(id int64) *goroutine {
	n := len(m.spare)
	if n == 0 {
		return &goroutine{id: id}
	}
	g := m.spare[n-1]
	m.spare = m.spare[:n-1]
	*g = goroutine{id: id, segments: g.segments[:0], wakes: g.wakes[:0]}
	return g
}

// label marks the collector's workers.
func (m *model) label(e *trace.Event, t int64) {
	l := e.Label()
	if l.Resource.Kind != trace.ResourceGoroutine || !strings.HasPrefix(l.Label, "GC (") {
		return
	}
	g := m.goroutine(int64(l.Resource.Goroutine()))
	g.gcWorker, g.gcIdle = true, l.Label == "GC (idle)"
	if g.last() == stateRunning && e.Proc() != trace.NoProc {
		m.clock.hold(t, int64(e.Proc()), g)
	}
}

// transition takes a goroutine into its next state.
func (m *model) transition(e *trace.Event, st *trace.StateTransition, t int64) {
	g := m.goroutine(int64(st.Resource.Goroutine()))
	from, to := st.Goroutine()
	if from == to {
		return // the state at the start of a generation, known already
	}
	began := t
	if from == trace.GoUndetermined && len(g.segments) == 0 {
		began = m.origin // its state is told when it is first met
	}
	if from == trace.GoRunning {
		if e.Proc() != trace.NoProc && to != trace.GoSyscall {
			last := g.entry
			if to == trace.GoRunnable {
				last = cmp.Or(m.sites.look(st.Stack).site, last)
			}
			m.clock.proc(int64(e.Proc())).last = last
		}
		if m.replay != nil {
			m.computed(g, t)
		}
	}
	switch to {
	case trace.GoRunnable:
		m.runnable(e, g, from, t, st)
	case trace.GoRunning:
		if e.Proc() != trace.NoProc {
			m.clock.hold(t, int64(e.Proc()), g)
			if n := len(g.segments); n > 0 && g.last() == stateRunnable {
				g.segments[n-1].site = m.clock.proc(int64(e.Proc())).last
			}
		}
		m.run(g, began)
	case trace.GoWaiting:
		info := m.sites.look(st.Stack)
		s := waitState(st.Reason)
		switch {
		case info.gc && s == stateLock:
			s = stateAssistWait // the collector's own semaphores
		case from == trace.GoNotExist: // a coroutine begins
			m.born(e, g, t, st)
		case from == trace.GoRunning && st.Reason == "": // a coroutine takes over (iter.Pull), until it gives back
			s = stateChannel
		}
		g.push(began, s, info.site)
		g.enter(info)
		m.waits(g, s, st.Reason, info, t)
	case trace.GoSyscall:
		info := m.sites.look(st.Stack)
		s := stateSyscall
		if info.cgo {
			s = stateCgo
		}
		g.push(began, s, info.site)
		g.enter(info)
		if info.answer {
			m.step(g, turnAnswers, t)
		}
		if info.serve && !info.handler && (info.peek || info.header) {
			m.reads(g, info, t)
		}
	case trace.GoNotExist:
		g.push(t, stateDead, 0)
		m.step(g, turnDies, t)
		delete(m.goroutines, g.id)
		m.dead = append(m.dead, g)
		m.recent[uint64(g.id)%uint64(len(m.recent))] = nil
	}
}

// runnable takes note of who made g runnable.
func (m *model) runnable(e *trace.Event, g *goroutine, from trace.GoState, t int64, st *trace.StateTransition) {
	by := m.other(e, g)
	switch from {
	case trace.GoNotExist:
		m.born(e, g, t, st)
	case trace.GoWaiting:
		n := len(g.segments)
		switch {
		case by != nil:
			by.wakes = append(by.wakes, t)
			if n > 0 {
				g.segments[n-1].waker = by
			}
		case n > 0 && g.last() == stateUnknown: // since before the trace, and no goroutine ended it
			g.segments[n-1].state = stateNetwork
		}
		if by == nil && n > 0 && g.segments[n-1].state == stateNetwork {
			m.looks(t)
		} else {
			m.poll = nil
		}
		m.wakes(g, t)
	case trace.GoRunning:
		g.enter(m.sites.look(st.Stack))
	}
	g.push(t, stateRunnable, 0)
}

// born takes note of who created g.
func (m *model) born(e *trace.Event, g *goroutine, t int64, st *trace.StateTransition) {
	g.born, g.parent = t, m.other(e, g)
	if g.parent != nil {
		g.owner = g.parent.turnOf()
	}
	g.ofNobody = g.parent == nil
	g.mark, g.known = t, true
	g.enter(m.sites.look(st.Stack))
}

// other returns the goroutine that e happened on, nil if that is g or none.
func (m *model) other(e *trace.Event, g *goroutine) *goroutine {
	if id := e.Goroutine(); id != trace.NoGoroutine && int64(id) != g.id {
		return m.goroutine(int64(id))
	}
	return nil
}

// run sets what g does on its processor.
func (m *model) run(g *goroutine, t int64) {
	switch {
	case g.stopping > 0:
		g.push(t, stateStopping, 0)
	case g.assisting:
		g.push(t, stateAssistMark, g.assistAt)
	default:
		g.push(t, stateRunning, 0)
	}
}

func waitState(reason string) state {
	switch reason {
	case "network":
		return stateNetwork
	case "sync", "sync.(*Cond).Wait":
		return stateLock
	case "chan send", "chan receive", "select":
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

// computed takes note of computing that is no request's, for the replay.
func (m *model) computed(g *goroutine, t int64) {
	n := len(g.segments)
	if n == 0 || g.start != 0 || g.woken != 0 && g.serve {
		return
	}
	s := g.segments[n-1]
	j := job{at: s.start, ns: t - s.start}
	switch {
	case g.gcWorker && g.gcIdle: // it gives way
	case g.gcWorker:
		m.replay.markers = append(m.replay.markers, j)
	case s.state == stateRunning:
		m.replay.other(j)
	case s.state == stateAssistMark, s.state == stateSweep:
		j.gc, j.ns = j.ns, 0
		m.replay.other(j)
	}
}

// prune forgets what no request can need any more: what was over before the oldest goroutine
// that is awake began its turn.
func (m *model) prune() {
	const patience = int64(50 * time.Millisecond) // with a goroutine that waits outside of a request
	horizon := m.now
	for _, g := range m.goroutines {
		if since, ok := g.since(m.now, patience); ok {
			horizon = min(horizon, since)
		}
	}
	for _, g := range m.goroutines {
		g.prune(horizon)
	}
	// What a goroutine woke or created was before its end: nobody names one that ended before horizon.
	m.dead = slices.DeleteFunc(m.dead, func(g *goroutine) bool {
		g.prune(horizon)
		over := g.last() == stateDead && len(g.segments) == 1 && g.segments[0].start < horizon
		switch {
		case !over:
		case len(m.spare) < maxSpare && cap(g.segments) <= maxSpareSegments:
			clear(g.segments[:cap(g.segments)])
			m.spare = append(m.spare, g)
		default: // or it would keep those in memory that it names
			g.segments, g.wakes, g.parent = nil, nil, nil
		}
		return over
	})
	m.clock.prune(horizon)
}
