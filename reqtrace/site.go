package reqtrace

import (
	"cmp"
	"slices"
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

const maxBandSites = 24

// wait says what a time went into, by the numbers of places. [Blame] has the meaning of each.
type wait struct {
	cause, doing Cause
	site         siteID
	from         siteID // where the request's own goroutine waited; 0: there, or it is site's goroutine
	inside       siteID // the library's function that sleeps
	op           siteID // the place that has the op, if site does not
	holder       siteID // where it was released; of a run queue: who ran instead
	writer       siteID // where an RWMutex's writer waits for the holder, a reader
	at           siteID // where the holder was
	atOp         siteID // like op, for at
}

type waitID uint32

// internWait returns a wait's number, and records its longest stretch.
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

// blames returns waits on average of n requests, the largest first. Those that look the same to
// users are added up. slowest limits their stretches.
func (s *sites) blames(waits []int64, n, slowest int64) (list []Blame) {
	type shown struct{ time, longest int64 }
	all := map[Blame]shown{}
	for id, ns := range waits {
		if ns == 0 {
			continue
		}
		b := s.blame(&s.waits[id], 0, 0)
		sum := all[b]
		all[b] = shown{sum.time + ns, max(sum.longest, s.longest[id])}
	}
	for b, sum := range all {
		b.Time, b.Longest = dur(sum.time/n), dur(min(sum.longest, slowest))
		list = append(list, b)
	}
	slices.SortFunc(list, compareBlames)
	return list[:min(len(list), maxBandSites)]
}

func compareBlames(p, q Blame) int {
	return cmp.Or(cmp.Compare(q.Time, p.Time), cmp.Compare(p.Cause, q.Cause),
		cmp.Compare(p.Site, q.Site), cmp.Compare(p.Call, q.Call), cmp.Compare(p.Op, q.Op),
		cmp.Compare(p.Inside, q.Inside), cmp.Compare(p.Handler, q.Handler),
		cmp.Compare(p.Holder, q.Holder), cmp.Compare(p.Writer, q.Writer),
		cmp.Compare(p.Doing, q.Doing), cmp.Compare(p.DoingAt, q.DoingAt), cmp.Compare(p.DoingOp, q.DoingOp))
}

// opOf returns the op of the place op, or of at.
func (s *sites) opOf(op, at siteID) string {
	if o := s.places[op].op; o != "" {
		return o
	}
	return s.places[at].op
}

// spentBy returns the wait on which p's goroutine spent time in seg. own is the cause if the
// goroutine works for the request. Otherwise it is what the holder did, and p.as is the cause.
func (s *sites) spentBy(p *piece, own Cause, seg *segment) (w wait) {
	at := seg.site
	if p.as == CauseRunning {
		w = wait{cause: own, site: s.better(at, p.site), from: p.from, op: at}
	} else {
		w = wait{cause: p.as, doing: own, site: p.site, from: p.from, at: s.better(at, p.near), atOp: at}
		w.holder, w.writer = p.holder, p.writer
	}
	switch {
	case p.inside != 0:
		w.inside = p.inside
	case own == CauseSleep:
		w.inside = seg.inside
	}
	if w.from == w.site {
		w.from = 0
	}
	if w.op == w.site || s.places[w.op].op == "" {
		w.op = 0
	}
	if w.atOp == w.at || s.places[w.atOp].op == "" {
		w.atOp = 0
	}
	return w
}

// follow returns the piece of the time of the goroutine that ended seg, from a to b. In a chain of
// waits, what the request waits for remains the same, so a convoy leads to the goroutine that began
// it. If held is set, the goroutine held what was waited for, and did not make it.
func (s *sites) follow(p *piece, seg *segment, a, b int64, as Cause, held bool) piece {
	next := piece{g: seg.waker, a: a, b: b, as: as, site: p.site, from: p.from, inside: p.inside}
	next.held, next.holder, next.hold = p.held || held, p.holder, p.hold
	if held {
		next.hold = b - a
	}
	if p.as == CauseRunning { // the wait of the request, or of a goroutine that works for it
		next.site = s.better(seg.site, p.site)
		if p.from == 0 {
			next.from = seg.site
		}
	}
	switch {
	case as == CauseRunning:
	case held || !p.held:
		if held && s.hasOneHolder(seg) {
			next.what = seg.site
		}
		if s.name(seg.release) != "" {
			next.holder = seg.release
			if p.as != CauseRunning { // otherwise the request itself is the writer
				next.writer = s.writerAt(seg)
			}
		}
	default:
		next.near, next.writer = s.better(seg.site, p.near), p.writer
	}
	return next
}
