package reqtrace

import (
	"strings"

	"golang.org/x/exp/trace"
)

// siteID is an index of sites.places. 0: none.
type siteID uint32

// sites knows the stacks of a trace by their place in the code. It looks at a stack once in each
// generation, which is how long the reader's handles live.
type sites struct {
	places  []place
	byPlace map[place]siteID
	byName  map[string]siteID
	others  siteID
	waits   []wait
	longest []int64 // at a stretch, of waits
	byWait  map[wait]waitID
	cache   map[trace.Stack]*knownStack
	frames  []frame

	asked     []string
	met       []bool // those that match a function
	functions map[string]function
	calls     map[line]call // of what may be middleware
	forWork   []int         // by candidate
	holds     map[siteID]*holding
}

type knownStack struct {
	stack trace.Stack
	info  stackInfo
	next  [2]*knownStack // what goroutines had after it, because servers repeat what they do
}

type stackInfo struct {
	site   siteID
	inside siteID // the innermost library function, if site is the program's
	class  siteID // the handler's function; 0: not on the stack
	entry  siteID // the goroutine's first function, if it is the program's or a library's
	cgo    bool
	named  bool // site is in the program or in a library
	roles  role

	depth     uint8  // how many frames lie outward of class
	foreign   bool   // class is the program's or a library's
	life      bool   // the goroutine began with a function that serves a request
	work      bool   // a wait here is one for work
	task      siteID // the innermost function of Options.Requests
	own       bool
	program   bool   // it has a function of the program's
	candidate siteID // what Options.Requests should name if waits here are for work
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

// better returns the place that says more to users: the program's, or else a.
func (s *sites) better(a, b siteID) siteID {
	if s.places[b].owner > s.places[a].owner || a == 0 {
		return b
	}
	return a
}

// otherRequests stands for a connection of net/http's server of which no more is known.
const otherRequests = "other requests"

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

func (s *sites) forget() {
	for _, k := range s.cache {
		*k = knownStack{} // goroutines name it still
	}
	clear(s.cache)
}

var noStack stackInfo

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
		switch {
		case f.Func == "runtime.goexit", f.Func == "runtime.main":
			continue
		case strings.HasPrefix(f.Func, "runtime.cgocallback"):
			called = true // C has called Go: frames outward are not where it is
		case f.Func == "runtime.cgocall", strings.Contains(f.Func, cFunction):
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
	if h >= 0 && !dispatches(&s.frames[h]) { // otherwise it calls handlers, and is none itself
		info.class, info.depth = s.intern(shortFunc(s.frames[h].Func)), uint8(min(len(s.frames)-h, 255))
		info.foreign = s.frames[h].owner >= ownerLibrary
	}
	s.serving(&info)
	if info.has(roleStreams) {
		info.roles &^= roleConn
	}
	return info
}

// InStandardLibrary reports whether a function is the standard library's, by its full name in
// stacks and profiles.
func InStandardLibrary(function string) bool { return stdRoots[pathRoot(function)] }

// stdRoots has the first elements of the standard library's import paths. A test compares them with
// go list std.
var stdRoots = func() map[string]bool {
	m := map[string]bool{}
	for _, s := range strings.Fields(`archive bufio bytes cmp compress container context crypto database debug embed
		encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin
		reflect regexp runtime slices sort strconv strings structs sync syscall testing text time unicode unique unsafe
		vendor weak`) {
		m[s] = true
	}
	return m
}()

// pathRoot returns the first element of the import path of a function's package. It ends at a
// slash. In a path of one element it ends at the dot before the function's name.
func pathRoot(function string) string {
	pkg, _, _ := strings.Cut(function, "[")
	root, _, ok := strings.Cut(pkg, "/")
	if !ok {
		root, _, _ = strings.Cut(pkg, ".")
	}
	return root
}
