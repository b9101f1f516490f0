package reqtrace

import (
	"math"
	"slices"
	"sort"
	"time"

	"golang.org/x/exp/trace"

	"evenkeel.dev/internal/cpuwatch"
)

// Machine says when all processors were silent although there was work. Most likely the machine
// stood still. No comparison of requests includes that time.
type Machine struct {
	Stalls   int           `json:"stalls"`
	Time     time.Duration `json:"time_ns"`
	Longest  time.Duration `json:"longest_ns"`
	Requests int           `json:"requests"`
	Spans    []Span        `json:"spans,omitempty"`
	Steal    float64       `json:"steal,omitempty"` // share of processor time that the hypervisor took, from 0 to 1

	// stalls that ended on a grid of 100 ms, as a quota's do; 0 if the quota is known
	Grid    int `json:"grid,omitempty"`
	Threads int `json:"threads,omitempty"` // threads with kernel counts; 0: not known
	// how long these waited for a CPU, beyond the requests' causes
	RunDelay time.Duration `json:"run_delay_ns,omitempty"`
}

// A stall is a time in which the machine stood still. An idle program is silent too, and so is code
// that cannot be preempted. So a silence is judged by what there was to do, and by what happens
// right after:
//
//	events ───┤ silence, of quietLeast or more ├─┬─ window ─┬─> events
//	          a                                b └ what was late is seen here: timers, the network
//
// It is the machine's if the world was not being stopped, and one of these holds:
//
//   - A goroutine was runnable and a processor free. The scheduler needs microseconds for that.
//   - All processors, two at least, ran ordinary goroutines, and each goes on in the window. Sysmon
//     interrupts each after 10 to 20 ms (runtime/proc.go, retake). Code that cannot be interrupted does
//     not end everywhere at once.
//   - Only the collector's workers and assists ran. An assist checks after each object whether it is
//     interrupted (runtime/mgcmark.go, gcDrainN).
//   - A beat of the runtime came late, though a processor was free for it. Each trace and each CPU
//     profile has a goroutine that sleeps for 100 ms at a time (runtime/tracecpu.go).
//   - Wake-ups that no goroutine made piled up. A free processor sees each at once, and sysmon looks at
//     the network each 10 ms. Without work, all senders may have been silent. Then several timers must
//     be late, or the silence far longer than chance gives by the rate of wake-ups. While requests wait
//     for other services, answers do not count, because one service may have held up all of them.
//   - A process next to it was late at the same time.
type stall struct {
	a, b    int64
	drained int64
	open    bool
	cause   Cause // or CauseThrottled
}

const (
	quietLeast = int64(10 * time.Millisecond)
	// sysmon interrupts code and looks at the network in it
	quietSysmon = int64(25 * time.Millisecond)
	quietWindow = int64(2 * time.Millisecond)
	// how long before a silence a request may have begun to wait for what held all up
	quietPatience = int64(100 * time.Millisecond)
	piled         = int64(1 * time.Millisecond)
	pileLeast     = 3
	beatLate      = int64(5 * time.Millisecond)
	beatPeriod    = int64(100 * time.Millisecond) // runtime/tracecpu.go, runtime/pprof.profileWriter
	maxWindow     = 1 << 14
	maxStalls     = 1000 // in a report
	looksLeast    = 100
	// a silence with a chance below e^-improbable is a stall
	improbable = 7
)

// end returns until when runnable goroutines wait for what piled up.
func (s *stall) end() int64 {
	latest := s.b + (s.b - s.a)
	if s.open {
		return latest
	}
	return min(latest, max(s.drained, s.b))
}

func (c *clock) stalled(a, b int64) (ns int64) {
	var p Parts
	return c.addStalls(&p, a, b)
}

// addStalls is stalled, and adds the time to p.
func (c *clock) addStalls(p *Parts, a, b int64) (ns int64) {
	for i := len(c.stalls) - 1; i >= 0 && c.stalls[i].b > a; i-- {
		s := &c.stalls[i]
		if d := min(b, s.b) - max(a, s.a); d > 0 {
			p.ns[s.cause] += dur(d)
			ns += d
		}
	}
	return ns
}

func (m *model) recordStall(next []trace.Event) {
	a, b := m.now, int64(next[0].Time())
	q := m.quiet(a, b)
	q.ends(m, next)
	if !m.machineStalled(&q) {
		return
	}
	c := &m.clock
	for i := range c.stalls {
		c.stalls[i].open = false
	}
	c.stalls = append(c.stalls, stall{a: a, b: b, drained: b, open: true, cause: CauseMachine})
	r := &m.machine
	r.Stalls++
	r.Time += dur(b - a)
	r.Longest = max(r.Longest, dur(b-a))
	if len(r.Spans) < maxStalls {
		r.Spans = append(r.Spans, m.span(a, b))
	}
}

type quiet struct {
	a, b     int64
	busy     int // processors
	ran      int // not by the collector's workers
	assisted int
	runnable int
	stuck    int  // of ran: sysmon should have interrupted it
	called   bool // a call keeps its processor for a while
	late     bool
	resumed  int // of ran: it goes on in the window
	pile     int // wake-ups in the window that no goroutine made
	timers   int
	waiting  bool // a request waits for others, but not for long yet
	answers  int  // may have come late from one of these; not in pile
}

func (m *model) quiet(a, b int64) (q quiet) {
	q.a, q.b = a, b
	for _, g := range m.goroutines {
		s := g.last()
		q.waiting = q.waiting || g.serving() && !g.measures && g.waitsSince(a-quietPatience)
		switch {
		case g.onProcessor() && g.gcWorker:
			q.busy++
		case g.onProcessor():
			q.busy++
			q.ran++
			q.stuck += g.stuck(a)
			if s == stateAssistMark {
				q.assisted++
			}
		case s == stateRunnable:
			q.runnable++
		case s == stateSyscall, s == stateCgo:
			q.called = true
		case s == stateChannel && g.beats, s == stateSleep && g.beats:
			due := g.segments[len(g.segments)-1].start + beatPeriod
			q.late = q.late || due >= a && due <= b-beatLate
		}
	}
	return q
}

func (q *quiet) ends(m *model, next []trace.Event) {
	var resumed, woken []int64
	for i := range next {
		e := &next[i]
		t := int64(e.Time())
		if t > q.b+quietWindow {
			return
		}
		id := int64(e.Goroutine())
		if g := m.goroutines[id]; g != nil && g.onProcessor() && !g.gcWorker && !slices.Contains(resumed, id) {
			resumed = append(resumed, id)
			q.resumed++
			q.stuck -= g.stuck(q.a)
		}
		if e.Kind() != trace.EventStateTransition || t > q.b+piled || e.Goroutine() != trace.NoGoroutine {
			continue
		}
		st := e.StateTransition()
		if st.Resource.Kind != trace.ResourceGoroutine {
			continue
		}
		id = int64(st.Resource.Goroutine())
		g := m.goroutines[id]
		if from, to := st.Goroutine(); from != trace.GoWaiting || to != trace.GoRunnable || g == nil ||
			slices.Contains(woken, id) {
			continue
		}
		woken = append(woken, id)
		switch g.last() {
		case stateSleep:
			q.timers++
			q.pile++
		case stateChannel:
			q.pile++
		case stateNetwork:
			if q.waiting && !g.streams && !g.segments[len(g.segments)-1].idle {
				q.answers++
			} else {
				q.pile++
			}
		}
	}
}

// waitsSince reports whether g began to wait for others at t or later. Long polls and sockets began
// before.
func (g *goroutine) waitsSince(t int64) bool {
	s := g.last()
	return (s == stateNetwork || s == stateChannel) && g.segments[len(g.segments)-1].start >= t
}

func (g *goroutine) stuck(a int64) int {
	if a-g.segments[len(g.segments)-1].start >= quietSysmon {
		return 1
	}
	return 0
}

func (m *model) machineStalled(q *quiet) bool {
	long, procs := q.b-q.a, max(m.clock.max, 1)
	free := q.busy < procs
	work := q.ran+q.runnable > 0
	switch {
	case m.clock.stops > 0:
		return false
	case q.runnable > 0 && free && (long >= quietSysmon || !q.called):
		return true
	case q.ran >= 2 && !free && q.resumed == q.ran && long >= quietSysmon:
		return true
	case q.assisted > 0 && q.assisted == q.ran && long >= quietSysmon:
		return true
	case q.late && free:
		return true
	case q.pile >= pileLeast && work && q.stuck == 0 && (free || long >= quietSysmon):
		return true
	case q.pile+q.answers >= pileLeast && q.ran > 0 && q.stuck == 0 && long >= quietSysmon:
		return true
	case q.pile >= pileLeast && (!work || q.stuck > 0) && (q.timers >= pileLeast || m.unlikely(long)):
		return true
	}
	return long >= 2*quietLeast && m.neighbourLate(q.a, q.b)
}

func (m *model) unlikely(long int64) bool {
	passed := m.now - m.origin - int64(m.machine.Time)
	if m.looks < looksLeast || passed <= 0 {
		return false
	}
	return float64(m.looks)/float64(passed)*float64(long) >= math.Log(float64(m.looks))+improbable
}

func (m *model) neighbourLate(a, b int64) bool {
	if m.snapshot == nil {
		return false
	}
	from, to := m.wall(a).UnixNano(), m.wall(b).UnixNano()
	return slices.ContainsFunc(m.late, func(late cpuwatch.Interval) bool {
		both := min(to, late.To.UnixNano()) - max(from, late.From.UnixNano())
		return 5*both >= 4*(b-a)
	})
}

// wall returns the wall clock's time at t, or zero.
func (m *model) wall(t int64) time.Time {
	if m.snapshot == nil {
		return time.Time{}
	}
	at := int64(m.snapshot.Trace)
	// Mono is read together with Wall, and Trace later. On Linux they are the same clock.
	if mono := int64(m.snapshot.Mono); at-mono >= 0 && at-mono < int64(time.Second) {
		at = mono
	}
	return m.snapshot.Wall.Add(dur(t - at))
}

func (g *goroutine) onProcessor() bool {
	switch g.last() {
	case stateRunning, stateAssistMark, stateSweep, stateStopping:
		return true
	}
	return false
}

// drains fills in when a processor was idle again after a stall.
func (c *clock) drains(s stall, at int) stall {
	s.drained, s.open = s.b, at == len(c.stalls)
	for i := sort.Search(len(c.steps), func(i int) bool { return c.steps[i].start >= s.b }); i < len(c.steps); i++ {
		if c.steps[i].now.idle {
			s.drained, s.open = c.steps[i].start, false
			break
		}
	}
	if at < len(c.stalls) {
		s.drained = min(s.drained, c.stalls[at].a)
	}
	return s
}
