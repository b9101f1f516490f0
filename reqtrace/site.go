package reqtrace

import (
	"strings"

	"golang.org/x/exp/trace"
)

// siteID is a place in the code: an index of sites.places; 0 is none.
type siteID uint32

// sites knows the stacks of a trace by their place in the code. A stack is looked at once in each
// generation of the trace: the reader's handles do not outlive it.
type sites struct {
	places      []place
	byPlace     map[place]siteID
	byName      map[string]siteID // places that have only a name
	others      siteID            // the place otherRequests
	waits       []wait
	longest     []int64 // of waits: the longest at a stretch
	byWait      map[wait]waitID
	recentWaits [64]waitID // of waits: requests of a kind repeat the same ones
	cache       map[trace.Stack]*knownStack
	frames      []frame

	asked     []string // Options.Requests
	met       []bool   // which of them match a function of the trace
	functions map[string]function
	calls     map[line]call // by line, of what may be middleware
	forWork   []int         // waits that may have been for work, by candidate
	holds     map[siteID]*holding
}

// knownStack is a stack that was looked at, until the end of the trace's generation.
type knownStack struct {
	stack trace.Stack
	info  stackInfo
	next  [2]*knownStack // that goroutines had after it, the last first: what a server does it does again and again
}

// stackInfo is what matters of a stack.
type stackInfo struct {
	site   siteID
	inside siteID // the innermost library function, if site is the program's
	class  siteID // the request's handler, by the name of its function; 0: not in the stack
	entry  siteID // the function that the goroutine began with, if it is the program's or a library's
	cgo    bool
	named  bool // site has a name: it is in the program or in a library
	gc     bool // in the allocator, for the collector: assists, or starts or ends a cycle
	sweep  bool // the runtime's background sweeper
	beat   bool // the runtime sleeps for beatPeriod
	serve  bool // a connection of net/http's server
	// Of other ways to serve requests:
	roles     role   // of all functions on it
	depth     uint8  // of class: how many frames lie outward of it
	foreign   bool   // class is a function of the program's or a library's
	life      bool   // the goroutine began with a function that serves a request
	work      bool   // a wait here is one for work
	task      siteID // the innermost function that Options.Requests names
	own       bool   // which is the program's
	program   bool   // it has a function of the program's
	candidate siteID // the function that Options.Requests should name, if waits here are for work
	// Within it:
	handler bool // in the handler
	peek    bool // waits for the next request
	header  bool // reads a request's header
	answer  bool // writes to the client
}

func newSites() *sites {
	s := &sites{
		places: []place{{}}, byPlace: map[place]siteID{{}: 0}, byName: map[string]siteID{}, byWait: map[wait]waitID{},
		holds: map[siteID]*holding{},
		cache: map[trace.Stack]*knownStack{}, functions: map[string]function{}, calls: map[line]call{},
	}
	s.others = s.intern(otherRequests)
	return s
}

func (s *sites) name(id siteID) string { return s.places[id].site }

// better returns that of two places which says more to who reads it: rather the program's than a
// library's, and a before b.
func (s *sites) better(a, b siteID) siteID {
	if s.places[b].owner > s.places[a].owner || a == 0 {
		return b
	}
	return a
}

// otherRequests is who had the processor before, where that is a connection of net/http's server and no more is known.
const otherRequests = "other requests"

// occupant returns what to call g as the one that has a processor.
func (s *sites) occupant(g *goroutine) siteID {
	switch {
	case g.place != 0:
		return g.place
	case g.entry != 0:
		return g.entry
	case g.serve:
		return s.others
	}
	return 0
}

// intern returns the number of a place that has no more than a name.
func (s *sites) intern(name string) siteID {
	id, ok := s.byName[name]
	if !ok {
		id = s.internPlace(place{site: name})
		s.byName[name] = id
	}
	return id
}

func (s *sites) internPlace(p place) siteID {
	id, ok := s.byPlace[p]
	if !ok {
		id = siteID(len(s.places))
		s.places = append(s.places, p)
		s.byPlace[p] = id
	}
	return id
}

// forget empties the cache: a generation of the trace has ended.
func (s *sites) forget() {
	for _, k := range s.cache {
		*k = knownStack{} // goroutines name it still
	}
	clear(s.cache)
}

// noStack is what a stack says that the trace does not have.
var noStack stackInfo

// look returns what a stack of g's says. It is not to be changed.
func (s *sites) look(g *goroutine, stack trace.Stack) *stackInfo {
	if stack == trace.NoStack {
		return &noStack
	}
	last := g.stack
	if last != nil {
		for _, k := range last.next {
			if k != nil && k.stack == stack {
				g.stack = k
				return &k.info
			}
		}
	}
	k := s.cache[stack]
	if k == nil {
		k = &knownStack{stack: stack, info: s.read(stack)}
		s.cache[stack] = k
	}
	if last != nil {
		last.next = [2]*knownStack{k, last.next[0]}
	}
	g.stack = k
	return &k.info
}

func (s *sites) read(stack trace.Stack) (info stackInfo) {
	s.frames = s.frames[:0]
	called := false
	for f := range stack.Frames() {
		switch f.Func {
		case "runtime.goexit", "runtime.main":
			continue
		case "runtime.gcAssistAlloc", "runtime.gcStart", "runtime.gcMarkDone":
			info.gc = true
		case "runtime.traceStartReadCPU.func1", "runtime/pprof.profileWriter":
			info.beat = true
		case "runtime.bgsweep":
			info.sweep = true
		case "runtime.cgocall":
			info.cgo = info.cgo || !called
		case "net/http.(*conn).serve":
			info.serve = true
		case "net/http.serverHandler.ServeHTTP":
			info.handler = true
		case "bufio.(*Reader).Peek":
			info.peek = true
		case "net/http.(*conn).readRequest":
			info.header = true
		case "net/http.checkConnErrorWriter.Write":
			info.answer = true
		}
		switch {
		case strings.HasPrefix(f.Func, "runtime.cgocallback"):
			called = true // C has called Go: what lies outward is not where it is
		case strings.Contains(f.Func, cFunction):
			info.cgo = info.cgo || !called
		}
		s.frames = append(s.frames, newFrame(f))
	}
	h := s.handler(s.frames)
	place, inside := placeOf(s.frames, h)
	info.site = s.internPlace(place)
	if inside >= 0 {
		info.inside = s.intern(siteOf(&s.frames[inside].StackFrame))
	}
	info.named = s.places[info.site].site != ""
	if n := len(s.frames); n > 0 && s.frames[n-1].owner >= ownerLibrary {
		info.entry = s.intern(shortFunc(s.frames[n-1].Func))
	}
	if h >= 0 && !dispatches(&s.frames[h]) { // the caller of handlers is not one itself
		info.class, info.depth = s.intern(shortFunc(s.frames[h].Func)), uint8(min(len(s.frames)-h, 255))
		info.foreign = s.frames[h].owner >= ownerLibrary
	}
	s.serving(&info)
	info.serve = info.serve && info.roles&roleStreams == 0
	return info
}
