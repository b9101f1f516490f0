package reqtrace

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/exp/trace"
)

// siteID is an index of sites.places, or 0.
type siteID uint32

// sites reads a stack once in each generation, which is how long the reader's handles live.
type sites struct {
	places  []place
	byPlace map[place]siteID
	others  siteID
	waits   []wait  // the first is what a request's sites leave of CauseUnknown, and so on
	longest []int64 // of waits
	byWait  map[wait]waitID
	cache   map[trace.Stack]*knownStack
	frames  []frame

	asked   []string
	met     []bool          // those that match a function
	roles   map[string]role // of functions
	calls   map[line]call   // of what may be middleware
	forWork map[siteID]int  // by candidate
	holds   map[siteID]holding
}

type knownStack struct {
	stack trace.Stack
	info  stackInfo
	next  [2]*knownStack // what came after it, because servers repeat what they do
}

type stackInfo struct {
	site   siteID
	inside siteID // innermost library function, if site is the program's
	class  siteID // the handler's function, or 0
	entry  siteID // first function, of the program or a library
	cgo    bool
	named  bool // site is the program's or a library's
	roles  role

	depth     uint8  // frames outward of class
	foreign   bool   // class is the program's or a library's
	life      bool   // the first function serves a request
	work      bool   // a wait here is for work
	task      siteID // innermost function of Options.Requests
	own       bool
	program   bool   // it has the program's code
	candidate siteID // for Options.Requests
}

func newSites() *sites {
	s := &sites{
		places: []place{{}}, byPlace: map[place]siteID{{}: 0}, byWait: map[wait]waitID{},
		waits: make([]wait, numCauses), longest: make([]int64, numCauses),
		holds: map[siteID]holding{}, forWork: map[siteID]int{},
		cache: map[trace.Stack]*knownStack{}, roles: map[string]role{}, calls: map[line]call{},
	}
	for c := range numCauses {
		s.waits[c].cause = c
	}
	s.others = s.intern(otherRequests)
	return s
}

func (s *sites) name(id siteID) string { return s.places[id].site }

// better returns the place that says more to users.
func (s *sites) better(a, b siteID) siteID {
	if s.places[b].owner > s.places[a].owner || a == 0 {
		return b
	}
	return a
}

// a connection of net/http of which no more is known
const otherRequests = "other requests"

func (s *sites) occupant(g *goroutine) siteID {
	if g.serve {
		return cmp.Or(g.place, g.entry, s.others)
	}
	return cmp.Or(g.place, g.entry)
}

func (s *sites) intern(name string) siteID { return s.internPlace(place{site: name}) }

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
			called = true // frames outward are not where it is
		case f.Func == "runtime.cgocall", strings.Contains(f.Func, cFunction):
			info.cgo = info.cgo || !called
		}
		s.frames = append(s.frames, frame{f, ownerOf(&f)})
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
	if h >= 0 && !dispatches(&s.frames[h]) { // otherwise it calls handlers
		info.class, info.depth = s.intern(shortFunc(s.frames[h].Func)), uint8(min(len(s.frames)-h, 255))
		info.foreign = s.frames[h].owner >= ownerLibrary
	}
	s.serving(&info)
	if info.has(roleStreams) {
		info.roles &^= roleConn
	}
	return info
}

// InStandardLibrary reports whether a function is the standard library's, by its full name.
func InStandardLibrary(function string) bool { return stdRoots[pathRoot(function)] }

// A test compares them with go list std.
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

func pathRoot(function string) string {
	pkg, _, _ := strings.Cut(function, "[")
	root, _, ok := strings.Cut(pkg, "/")
	if !ok {
		root, _, _ = strings.Cut(pkg, ".")
	}
	return root
}

const maxBandSites = 24

// wait says what a time went into, by the numbers of places. [Blame] explains each.
type wait struct {
	cause, doing Cause
	site         siteID
	from         siteID // where the request's own goroutine waited; 0: there
	inside       siteID
	op           siteID // if site does not have it
	holder       siteID // where it was released, or who ran instead
	writer       siteID
	at           siteID // where the holder was
	atOp         siteID // like op, for at
}

type waitID uint32

func (s *sites) internWait(w wait, longest int64) waitID {
	id, ok := s.byWait[w]
	if !ok {
		id = waitID(len(s.waits))
		s.waits, s.longest = append(s.waits, w), append(s.longest, 0)
		s.byWait[w] = id
	}
	s.longest[id] = max(s.longest[id], longest)
	return id
}

func (s *sites) blame(w *wait, ns, longest int64) Blame {
	site, from := &s.places[w.site], &s.places[w.from]
	doing := w.doing
	if doing == CauseRunning && s.holds[w.holder].descheduled() {
		doing = CauseDescheduled
	}
	b := Blame{
		Cause: w.cause, Site: site.site, Call: site.call, Op: s.opOf(w.op, w.site),
		Inside: s.name(w.inside), Handler: site.handler, Holder: s.name(w.holder), Writer: s.name(w.writer),
		Doing: doing, DoingAt: s.name(w.at), DoingOp: s.opOf(w.atOp, w.at), Time: dur(ns), Longest: dur(longest),
	}
	if b.Handler == "" && w.from != 0 {
		b.Handler = from.handler
		if b.Handler == "" && from.site != site.site {
			b.Handler = from.site
		}
	}
	return b
}

// blames joins those that look the same. slowest limits their stretches.
func (s *sites) blames(waits []int64, n, slowest int64) (list []Blame) {
	at := map[Blame]int{} // index of list
	for id, ns := range waits {
		if ns == 0 || id < int(numCauses) {
			continue
		}
		b := s.blame(&s.waits[id], 0, 0)
		i, ok := at[b]
		if !ok {
			i = len(list)
			at[b], list = i, append(list, b)
		}
		list[i].Time += dur(ns)
		list[i].Longest = max(list[i].Longest, dur(s.longest[id]))
	}
	for i := range list {
		list[i].Time /= dur(n)
		list[i].Longest = min(list[i].Longest, dur(slowest))
	}
	slices.SortStableFunc(list, func(p, q Blame) int {
		return cmp.Or(cmp.Compare(q.Time, p.Time), cmp.Compare(p.Cause, q.Cause), cmp.Compare(p.Site, q.Site),
			cmp.Compare(p.Holder, q.Holder))
	})
	return list[:min(len(list), maxBandSites)]
}

func (s *sites) opOf(op, at siteID) string {
	return cmp.Or(s.places[op].op, s.places[at].op)
}
