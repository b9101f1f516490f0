package reqtrace

import (
	"cmp"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"golang.org/x/exp/trace"

	"evenkeel.dev"
	"evenkeel.dev/internal/cpuwatch"
	"evenkeel.dev/reqtrace/internal/mark"
)

// model follows a trace event by event and finds the requests in it. It knows what each goroutine
// did, as segments:
//
//	goroutine 7   │ network     │ runnable │ running │ lock      │ runnable │ running
//	              0             │                    │ waker: 9  │
//	                            └ turns: woken       └ what blamer follows
//
// Invariants:
//   - Events and segments are in order of time. A segment that takes no time is replaced.
//   - A generation of the trace repeats the states of goroutines. That is no transition.
//   - prune forgets what no request needs, so memory is bounded by what is under way. A waker is kept
//     while a segment may name it, also after its end (dead).
type model struct {
	region        string
	regionPattern bool
	origin        int64
	now           int64
	events        int
	pruneAt       int
	horizon       int64
	goroutines    map[int64]*goroutine
	dead          []*goroutine
	spare         []*goroutine
	recent        [maxRecent]*goroutine
	clock         clock
	sites         *sites
	turns         turns
	gc            []Span
	marking       int64 // of the concurrent mark phase; 0: none
	stopping      int64
	machine       Machine
	kernel        *kernel
	late          []cpuwatch.Interval // when the process next to this one was late
	snapshot      *trace.ClockSnapshot
	looks         int // wake-ups by no goroutine, at different times
	looked        int64
	samples       int
	heap          heap
}

type heap struct{ last, allocated uint64 }

func (h *heap) now(bytes uint64) {
	if h.last != 0 && bytes > h.last {
		h.allocated += bytes - h.last
	}
	h.last = bytes
}

const maxSpans = 1 << 18

func (m *model) span(a, b int64) Span { return Span{Start: dur(a - m.origin), End: dur(b - m.origin)} }

// Span is a time in which the collector marked, or the world was stopped.
type Span struct {
	Start   time.Duration `json:"start_ns"`
	End     time.Duration `json:"end_ns"`
	Stopped bool          `json:"stopped,omitempty"`
}

const (
	pruneEvery = 1 << 14
	prunePer   = 8 // events for each goroutine
	// wake-ups by no goroutine within it (ns) count as one
	oneLook          = 50_000
	maxRecent        = 1 << 14
	maxSpare         = 1 << 12
	maxSpareSegments = 64 // larger ones are freed
)

func newModel(o Options) (*model, error) {
	if err := checkRequests(o.Requests); err != nil {
		return nil, err
	}
	if _, err := path.Match(o.Class, ""); err != nil {
		return nil, evenkeel.NewOptionError("reqtrace.Options", "Class",
			"%q is not a pattern; write a class's name, or a pattern of path.Match: GET /orders/*", o.Class)
	}
	m := &model{region: cmp.Or(o.Region, mark.Region), pruneAt: pruneEvery}
	m.goroutines, m.sites = map[int64]*goroutine{}, newSites()
	m.regionPattern = strings.ContainsAny(o.Region, "*?[")
	m.sites.asked, m.sites.met = o.Requests, make([]bool, len(o.Requests))
	m.turns = turns{
		anyServer: o.Region == "",
		findCalls: o.Each != nil,
		classes:   classes{pattern: o.Class, sites: m.sites, total: map[siteID]Parts{}},
		blamer:    blamer{clock: &m.clock, known: m.sites},
	}
	beside := cmp.Or(o.Beside, &cpuwatch.Beside{})
	m.late, m.machine.Steal = beside.Late, beside.Steal
	m.kernel = newKernel(beside.CPU, &m.clock)
	m.turns.kernel, m.turns.blamer.kernel = m.kernel, m.kernel
	return m, nil
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
	*g = goroutine{id: id, segments: g.segments[:0], wakes: g.wakes[:0], samples: g.samples[:0], stops: g.stops[:0]}
	return g
}

func (m *model) run(g *goroutine, t int64) {
	switch {
	case g.stopping > 0:
		m.push(g, t, stateStopping, g.stopAt)
	case g.assisting:
		m.push(g, t, stateAssistMark, g.assistAt)
	default:
		m.push(g, t, stateRunning, 0)
	}
	g.segments[len(g.segments)-1].thread = g.thread
}

func (m *model) prune() {
	const patience = int64(50 * time.Millisecond) // with a goroutine that waits outside of a request
	horizon := m.turns.since(m.now)
	for _, g := range m.goroutines {
		if since, ok := g.since(m.now, patience); ok {
			horizon = min(horizon, since)
		}
		if len(g.segments) > maxSpareSegments { // push may never prune it
			g.prune(m.horizon)
		}
	}
	m.horizon = horizon
	// It woke and created nobody after that.
	m.dead = slices.DeleteFunc(m.dead, func(g *goroutine) bool {
		over := g.last() == stateDead && g.segments[len(g.segments)-1].start < horizon
		switch {
		case !over:
			g.prune(horizon)
		case len(m.spare) < maxSpare && cap(g.segments) <= maxSpareSegments:
			clear(g.segments[:cap(g.segments)])
			m.spare = append(m.spare, g)
		default:
			g.segments, g.wakes, g.samples, g.stops, g.parent = nil, nil, nil, nil, nil
		}
		return over
	})
	m.clock.prune(horizon)
	m.turns.blamer.prune(horizon)
	m.kernel.prune(horizon)
}

type state uint8

const (
	stateUnknown state = iota
	stateRunning
	stateRunnable
	stateSyscall
	stateCgo
	stateNetwork
	stateLock
	stateChannel
	stateSleep
	stateAssistMark
	stateAssistWait
	stateSweep
	stateStopping
	stateDead
)

// segment lasts until the next one's start.
type segment struct {
	start   int64
	waker   *goroutine
	site    siteID // of a wait, call or assist; if runnable, of who had the processor before
	release siteID
	inside  siteID // the library's function that waits
	state   state
	idle    bool
	held    bool  // the waker held what is waited for, and did not make it
	thread  int32 // 0: none, or not known
}

// The fields of every event come first, because most goroutines are in no cache when they wake up.
type goroutine struct {
	id       int64
	segments []segment // by time
	stack    *knownStack
	turn

	serve     bool // an HTTP/1 connection of net/http
	streams   bool // a connection of many streams
	way       way  // how else it serves requests
	asked     bool // by Options.Requests
	forWork   bool
	beats     bool
	reads     bool // a client's connection
	calling   bool // it waits for an answer
	wrote     bool // its request of HTTP/2
	gcWorker  bool
	assisting bool
	sweeping  bool
	thread    int32 // its last; 0: not known
	ofNobody  bool
	place     siteID // last one with a name
	entry     siteID
	task      siteID // function of Options.Requests, which is the class

	wakes    []int64 // when it woke others
	jobs     jobsOf
	owner    uint64
	parent   *goroutine
	born     int64         // 0: before the trace
	samples  []stackSample // of a CPU profile
	stops    []stackSample // where it was preempted
	locked   int64
	stopping int    // stops of the world under way
	stopAt   siteID // who asked for the stop
	assistAt siteID
	callAt   int64  // when its call began; 0: none is under way
	conn     int64  // goroutine of the connection that brought its request; 0: not known
	opened   int64  // when conn was born; 0: before the trace
	connects int64  // when it or its parent last opened a connection
	opener   uint64 // the turn for which connects was, before the first call; 0: none
}

// at returns the index of the segment at t, or -1.
func (g *goroutine) at(t int64) int {
	return searchBack(len(g.segments), func(i int) bool { return g.segments[i].start > t }) - 1
}

func searchBack(n int, f func(int) bool) int {
	from, to := n-1, n
	for step := 1; from >= 0 && f(from); step *= 2 {
		from, to = from-step, from
	}
	from = max(from+1, 0)
	return from + sort.Search(to-from, func(i int) bool { return f(from + i) })
}

func (g *goroutine) segment(i int, b int64) (*segment, int64) {
	if i+1 < len(g.segments) {
		b = min(b, g.segments[i+1].start)
	}
	return &g.segments[i], b
}

// enough for a goroutine of one request
const firstSegments = 8

// push begins a segment. It prunes a full slice first.
func (m *model) push(g *goroutine, t int64, s state, site siteID) {
	n := len(g.segments)
	if n > 0 && g.segments[n-1].start == t {
		g.segments[n-1] = segment{start: t, state: s, site: site}
		return
	}
	switch {
	case cap(g.segments) == 0:
		g.segments = make([]segment, 0, firstSegments)
	case n == cap(g.segments):
		g.prune(m.horizon)
	}
	g.segments = append(g.segments, segment{start: t, state: s, site: site})
}

func (g *goroutine) last() state {
	if n := len(g.segments); n > 0 {
		return g.segments[n-1].state
	}
	return stateUnknown
}

// wokeBefore returns when g last woke another goroutine before t, or 0.
func (g *goroutine) wokeBefore(t int64) int64 {
	i := searchBack(len(g.wakes), func(i int) bool { return g.wakes[i] >= t })
	if i == 0 {
		return 0
	}
	return g.wakes[i-1]
}

func (g *goroutine) prune(horizon int64) {
	if i := g.at(horizon); i > 0 {
		g.segments = slices.Delete(g.segments, 0, i)
	}
	if i := sort.Search(len(g.wakes), func(i int) bool { return g.wakes[i] >= horizon }); i > 1 {
		g.wakes = slices.Delete(g.wakes, 0, i-1) // the last one before it too
	}
	g.samples = dropUntil(g.samples, func(s *stackSample) bool { return s.at >= horizon })
	g.stops = dropUntil(g.stops, func(s *stackSample) bool { return s.at >= horizon })
	if g.born < horizon {
		g.parent = nil
	}
}

func (g *goroutine) marks() bool { return g.gcWorker || g.assisting || g.sweeping }
