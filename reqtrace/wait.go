package reqtrace

import (
	"cmp"
	"slices"
)

// maxBandSites is how many places a band names.
const maxBandSites = 24

// wait says what some of a request's time went into, as numbers of places; see [Blame] for what
// each says to who reads it.
type wait struct {
	cause, doing Cause
	site         siteID // where it was spent
	from         siteID // where the request's own goroutine waited meanwhile; 0: there, or it is site's goroutine
	inside       siteID // the library's function that sleeps there
	op           siteID // the place that knows what is asked for, where site does not
	holder       siteID // where what is waited for was let go; of a run queue: who ran instead
	writer       siteID // of an RWMutex: where a writer waits for holder, a reader
	at           siteID // where the holder was meanwhile
	atOp         siteID // as op, of at
}

// waitID is a number of a wait: an index of sites.waits.
type waitID uint32

// internWait returns a wait's number, and takes note of how long it has taken at a stretch.
func (s *sites) internWait(w wait, longest int64) waitID {
	recent := &s.recentWaits[(w.site*31+w.holder*7+siteID(w.cause))%siteID(len(s.recentWaits))]
	id := *recent
	if int(id) >= len(s.waits) || s.waits[id] != w {
		var ok bool
		if id, ok = s.byWait[w]; !ok {
			id = waitID(len(s.waits))
			s.waits = append(s.waits, w)
			s.longest = append(s.longest, 0)
			s.byWait[w] = id
		}
		*recent = id
	}
	s.longest[id] = max(s.longest[id], longest)
	return id
}

// blame returns a wait as users see it.
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

// blames returns waits as users see them, the largest first, on average of n requests of which the
// slowest took that long. What looks the same is one.
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

// compareBlames puts the largest first, and what is as large in an order that does not depend on anything else.
func compareBlames(p, q Blame) int {
	return cmp.Or(cmp.Compare(q.Time, p.Time), cmp.Compare(p.Cause, q.Cause),
		cmp.Compare(p.Site, q.Site), cmp.Compare(p.Call, q.Call), cmp.Compare(p.Op, q.Op),
		cmp.Compare(p.Inside, q.Inside), cmp.Compare(p.Handler, q.Handler),
		cmp.Compare(p.Holder, q.Holder), cmp.Compare(p.Writer, q.Writer),
		cmp.Compare(p.Doing, q.Doing), cmp.Compare(p.DoingAt, q.DoingAt), cmp.Compare(p.DoingOp, q.DoingOp))
}

// opOf returns what is asked for at a place, as the place op or that itself says.
func (s *sites) opOf(op, at siteID) string {
	if o := s.places[op].op; o != "" {
		return o
	}
	return s.places[at].op
}

// spentBy returns the wait on which p's goroutine spent time in the segment seg. If the goroutine
// works for the request, own is the cause. Otherwise p.as is the cause, and own is what the holder
// did.
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

// follow returns the piece of the time of w, who ended p's goroutine's wait seg, that was waited
// through from a to b. Where that wait is one of a chain, what the request waits for stays what it
// is: so a convoy of hand-offs comes down to who began it. held: w did not make what was waited
// for, it had it; then what w waited for in its turn is what it did meanwhile.
func (s *sites) follow(p *piece, seg *segment, a, b int64, as Cause, held bool) piece {
	next := piece{g: seg.waker, a: a, b: b, as: as, site: p.site, from: p.from, inside: p.inside}
	next.held, next.holder, next.hold = p.held || held, p.holder, p.hold
	if held {
		next.hold = b - a
	}
	if p.as == CauseRunning { // the request's own wait, or of who works for it
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
			if p.as != CauseRunning { // else the request itself is the writer
				next.writer = s.writerAt(seg)
			}
		}
	default:
		next.near, next.writer = s.better(seg.site, p.near), p.writer
	}
	return next
}
