package reqtrace

import (
	"slices"
	"sort"
)

// state is what a goroutine does from the start of a segment to the start of the next.
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
	stateStopping // it stops the world
	stateDead
)

// segment is a piece of a goroutine's time. It ends where the next begins.
type segment struct {
	start   int64
	waker   *goroutine // who ended a wait, nil: nobody that is a goroutine
	site    siteID     // of a wait, a call or an assist; of being runnable: who had the processor before
	release siteID     // where the waker ended the wait
	inside  siteID     // of a wait: the library's function that waits
	state   state
	idle    bool  // it is a wait for the next request
	held    bool  // the waker did not make what is waited for: a request held it, or it had to take what is sent
	thread  int32 // the thread that it ran on; 0: it did not run, or the thread is not known
}

// goroutine is what the trace says about one goroutine. Times are nanoseconds of the trace's clock.
// The fields that each event reads come first, because most goroutines are in no cache when they
// are woken.
type goroutine struct {
	id       int64
	segments []segment   // in order of time; pruned from the front
	stack    *knownStack // the last that was looked at; nil: none yet
	turn

	serve     bool // it is a connection of net/http's server, of HTTP/1
	streams   bool // it serves a connection of many streams
	way       way  // how else it serves requests
	asked     bool // by a function that Options.Requests names
	forWork   bool // it waits on behalf of a request, or may
	beats     bool // it sleeps for beatPeriod again and again
	gcWorker  bool
	gcIdle    bool // and runs only where nobody else would
	assisting bool
	sweeping  bool
	thread    int32  // that it runs on, or last ran on; 0: not known
	ofNobody  bool   // a timer created it, not a goroutine
	place     siteID // its last place that has a name
	entry     siteID
	task      siteID // a function that Options.Requests names, if it is the program's: the class of its requests

	wakes    []int64 // when it woke others, in order of time; pruned like segments
	jobs     jobsOf
	owner    uint64 // the turn that it was created in
	parent   *goroutine
	born     int64         // when parent created it; 0: before the trace
	samples  []stackSample // of a CPU profile, in order of time; pruned likewise
	stops    []stackSample // where it was preempted, pruned like segments
	locked   int64         // when it last took SQLite's lock, or tried to
	stopping int           // how many stops of the world it has under way
	stopAt   siteID        // on whose behalf
	assistAt siteID
}

// at returns the index of the segment that t lies in, -1 when that is not known.
func (g *goroutine) at(t int64) int {
	n := len(g.segments)
	if n > 0 && g.segments[n-1].start <= t { // the usual case
		return n - 1
	}
	return searchBack(n, func(i int) bool { return g.segments[i].start > t }) - 1
}

// searchBack is sort.Search, for what is mostly among the last.
func searchBack(n int, f func(int) bool) int {
	from, to := n-1, n
	for step := 1; from >= 0 && f(from); step *= 2 {
		from, to = from-step, from
	}
	from = max(from+1, 0)
	return from + sort.Search(to-from, func(i int) bool { return f(from + i) })
}

// segment returns the i-th segment of g and where it ends, b at the latest.
func (g *goroutine) segment(i int, b int64) (*segment, int64) {
	if i+1 < len(g.segments) {
		b = min(b, g.segments[i+1].start)
	}
	return &g.segments[i], b
}

// firstSegments is the initial capacity. Most goroutines that live for one request need no more.
const firstSegments = 8

// push begins a segment. If the slice is full, it first drops segments that no request needs any
// more.
func (m *model) push(g *goroutine, t int64, s state, site siteID) {
	n := len(g.segments)
	if n > 0 && g.segments[n-1].start == t {
		g.segments[n-1] = segment{start: t, state: s, site: site} // nothing happened in no time
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

// last returns the current segment's state.
func (g *goroutine) last() state {
	if n := len(g.segments); n > 0 {
		return g.segments[n-1].state
	}
	return stateUnknown
}

// wokeBefore returns when g last woke another goroutine before t, 0 when that is not known.
func (g *goroutine) wokeBefore(t int64) int64 {
	i := searchBack(len(g.wakes), func(i int) bool { return g.wakes[i] >= t })
	if i == 0 {
		return 0
	}
	return g.wakes[i-1]
}

// prune forgets what was over before horizon.
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

// enter takes note of what a stack says about g.
func (g *goroutine) enter(info *stackInfo) {
	if info.entry != 0 {
		g.entry = info.entry
	}
	if info.named {
		g.place = info.site
	}
	if info.sweep { // it gives way after each span, but not to the network
		g.gcWorker, g.gcIdle = true, true
	}
}

// marks reports whether g, where it has a processor, works for the collector.
func (g *goroutine) marks() bool { return g.gcWorker || g.assisting || g.sweeping }
