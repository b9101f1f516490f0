package reqtrace

import (
	"cmp"
	"slices"
)

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
