package reqtrace

import (
	"slices"
	"sort"
)

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

// segment is a piece of a goroutine's time, until the next one's start.
type segment struct {
	start   int64
	waker   *goroutine
	site    siteID // of a wait, call or assist; if runnable, of who had the processor before
	release siteID
	inside  siteID // the library's function that waits
	state   state
	idle    bool
	held    bool  // the waker held what is waited for, and did not make it
	thread  int32 // on which it ran; 0: none, or not known
}

// goroutine is what the trace says about one goroutine. The fields of every event come first,
// because most goroutines are in no cache when they wake up.
type goroutine struct {
	id       int64
	segments []segment // in order of time; pruned from the front
	stack    *knownStack
	turn

	serve     bool // a connection of HTTP/1 of net/http's server
	streams   bool // a connection of many streams
	way       way  // how else it serves requests
	asked     bool // Options.Requests names its function
	forWork   bool
	beats     bool
	gcWorker  bool
	assisting bool
	sweeping  bool
	thread    int32 // its last; 0: not known
	ofNobody  bool
	place     siteID // the last one with a name
	entry     siteID
	task      siteID // the program's function of Options.Requests, which is the class

	wakes    []int64 // when it woke others; pruned like segments
	jobs     jobsOf
	owner    uint64
	parent   *goroutine
	born     int64         // 0: before the trace
	samples  []stackSample // of a CPU profile; pruned like segments
	stops    []stackSample // where it was preempted; pruned like segments
	locked   int64
	stopping int    // stops of the world that it has under way
	stopAt   siteID // who asked for the stop
	assistAt siteID
}

// at returns the index of the segment that t lies in. -1: not known.
func (g *goroutine) at(t int64) int {
	n := len(g.segments)
	if n > 0 && g.segments[n-1].start <= t {
		return n - 1
	}
	return searchBack(n, func(i int) bool { return g.segments[i].start > t }) - 1
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

// firstSegments is the initial capacity, enough for a goroutine of one request.
const firstSegments = 8

// push begins a segment. A full slice first drops what no request needs.
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

// wokeBefore returns when g last woke another goroutine before t. 0: not known.
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
