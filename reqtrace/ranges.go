package reqtrace

import (
	"math"
	"strings"

	"golang.org/x/exp/trace"
)

const (
	rangeMark   = "GC concurrent mark phase"
	rangeAssist = "GC mark assist"
	rangeSweep  = "GC incremental sweep"
	rangeStop   = "stop-the-world ("    // and why
	rangeStopGC = "stop-the-world (GC " // sweep termination, mark termination
)

// rangeBegin records the begin of a range. A generation repeats it.
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

// asker returns the place that asked for a stop of the world. Stops by the collector have the
// range's name.
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
