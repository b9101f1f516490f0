package across

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"evenkeel.dev/reqtrace"
)

// Calls that no id joins are joined by their connections. Both ends of a connection have the same
// calls in the same order. Two ends that do not belong together agree by chance only:
//
//	shop    7     ├─────┤   ├───────┤       ├──┤
//	prices  31     ├───┤     ├─────┤         ├┤        each call has a request in it
//	        32               ├┤            ├──────┤    one of three has
//
//  1. Each call votes for the request that fills it best, and each request for its call. In a long
//     trace those of one in so many seconds do, and then those of the ends that are left.
//  2. Two ends are a pair if they have several times the votes of the next best pair of either end.
//     A pair leaves the vote with its calls, so the next round tells others apart.
//  3. Some ends have too few calls to vote. If others of the two services are pairs, these are
//     paired in the order in which they were opened.
//  4. The calls of a pair are joined in their order.

// use is a call at its caller, or a request at the other end.
type use struct {
	a, b    int64 // of its service's clock
	at      int64 // a, or when a call was marked
	request int32 // -1: not kept
	open    bool  // b may be later than the answer
	marked  bool  // a call
}

func (u *use) of(service int) ref { return ref{service, int(u.request)} }

// conn is an end of a connection.
type conn struct {
	service int   // of a joiner
	opened  int64 // 0: before the trace
	uses    []use // by a
	paired  bool
	number  int // in the order of opened, of those that no vote paired
}

// join takes an end out, because ids join its calls.
func (e *conn) join() {
	if e != nil && !e.paired {
		e.paired, e.uses = true, slices.DeleteFunc(e.uses, func(u use) bool { return u.marked })
	}
}

// pairOf is a caller's end and the other one.
type pairOf struct{ caller, callee *conn }

// match is a pair of which the calls agree.
type match struct {
	pairOf
	uses [][2]int32 // indexes into both ends' uses
	sure bool
}

// order joins calls by their order.
type order struct {
	*joiner
	callers, callees [][]*conn  // by service
	calls, requests  [][]queued // of those that are not paired
	views            map[[2]int]*view
	wrong            map[pairOf]bool
	matches          []match
}

// view is how a caller sees a callee.
type view struct {
	same   bool // they have one clock
	ids    bool // ids told the clock
	offset func(at int64) int64
	slack  int64
	from   int64 // when both traces have calls
	to     int64
	paired bool

	callerBegan, calleeBegan int64 // the traces
}

const (
	enoughShare = .9                   // of the calls of both ends
	enoughCalls = 5                    // of a pair that is voted for
	enoughUses  = 100_000              // that vote at first, for speed and memory
	turn        = int64(1_000_000_000) // ns of a trace that vote at first, or do not
	enoughRatio = 2                    // of the votes, for a pair that is sure
	maxRounds   = 16                   // for each ratio
	maxChoice   = 256                  // of requests for a call, or of ends for an end
	exact       = int64(20_000)        // ns between times of one clock
	accepts     = int64(5_000_000_000) // ns that a connection may wait for its server
	starts      = int64(50_000_000)    // ns in which a trace may miss some events
)

// connections joins what no id joined.
func (j *joiner) connections() {
	x := &order{joiner: j, views: map[[2]int]*view{}, wrong: map[pairOf]bool{}}
	x.collect()
	for p, callers := range x.callers {
		for q, callees := range x.callees {
			if p != q && len(callers) > 0 && len(callees) > 0 {
				if v := x.look(p, q); v != nil {
					x.views[[2]int{p, q}] = v
				}
			}
		}
	}
	n := int64(0)
	for k := range x.services {
		n += uses(x.callers[k]) + uses(x.callees[k])
	}
	if every := n/enoughUses + 1; every > 1 {
		x.pairBy(every, 8, 4, enoughRatio)
	}
	x.pairBy(1, 8, 4, enoughRatio, 1.3)
	x.rest()
	x.link()
}

func uses(ends []*conn) (n int64) {
	for _, e := range ends {
		n += int64(len(e.uses))
	}
	return n
}

// collect finds the ends of connections of which an id joined no call.
func (x *order) collect() {
	joined := map[ref]bool{}
	for i := range x.links {
		joined[x.links[i].callee] = true
	}
	for k, s := range x.services {
		for _, e := range s.callers {
			e.service = k
			if !e.paired {
				e.paired = slices.ContainsFunc(e.uses, func(u use) bool { return x.linked(u.of(k), u.at) })
			}
		}
		for _, e := range s.callees {
			e.service = k
			if !e.paired {
				e.paired = slices.ContainsFunc(e.uses, func(u use) bool { return joined[u.of(k)] })
			}
		}
		x.callers, x.callees = append(x.callers, connsOf(s.callers)), append(x.callees, connsOf(s.callees))
	}
}

func (j *joiner) linked(caller ref, at int64) bool {
	return slices.ContainsFunc(j.of(caller), func(l link) bool { return l.at == at })
}

// conns is what a service's requests say of connections.
type conns struct {
	callers, callees map[int64]*conn // by goroutine
	began            int64           // the trace
	wall             int64           // clock less the service's; 0: not known
}

// connect keeps the connections of a request and of its calls. request is its index, or -1. joined says
// that an id joined it.
func (s *conns) connect(q *reqtrace.Request, request int, joined bool) {
	if s.callers == nil {
		s.callers, s.callees = map[int64]*conn{}, map[int64]*conn{}
	}
	base := q.Clock - int64(q.End)
	s.began = base
	if s.wall == 0 && !q.Began.IsZero() {
		s.wall = q.Began.UnixNano() - base - int64(q.Start)
	}
	for _, c := range q.Calls {
		if e := connOf(s.callers, c.Conn, base, int64(c.Opened)); e != nil && (!e.paired || c.ID == "") {
			e.uses = append(e.uses, use{
				request: int32(request), a: base + int64(max(c.Sent, c.Start)), b: base + int64(c.End),
				at: base + int64(c.Start), marked: c.ID != "",
			})
		}
	}
	switch e := connOf(s.callees, q.Conn, base, int64(q.Opened)); {
	case e == nil:
	case e.paired || joined:
		e.paired, e.uses = true, nil
	default:
		u := use{request: int32(request), a: base + int64(q.Start), b: base + int64(q.Answered), open: q.Answered == 0}
		if u.open {
			u.b = q.Clock
		}
		e.uses = append(e.uses, u)
	}
}

// clip frees what the lists of uses have not filled.
func (s *conns) clip() {
	for _, ends := range []map[int64]*conn{s.callers, s.callees} {
		for _, e := range ends {
			e.uses = slices.Clone(e.uses)
		}
	}
}

// renumber takes the new numbers of requests, plus 1.
func (s *conns) renumber(kept []int) {
	for _, ends := range []map[int64]*conn{s.callers, s.callees} {
		for _, e := range ends {
			for i := range e.uses {
				if u := &e.uses[i]; u.request >= 0 {
					u.request = int32(kept[u.request] - 1)
				}
			}
		}
	}
}

func connOf(ends map[int64]*conn, id, base, opened int64) *conn {
	if id == 0 {
		return nil
	}
	e := ends[id]
	if e == nil {
		e = &conn{}
		if opened > 0 {
			e.opened = base + opened
		}
		ends[id] = e
	}
	return e
}

// connsOf returns ends without those that ids joined, in the order in which they were opened or
// used.
func connsOf(ends map[int64]*conn) []*conn {
	var list []*conn
	for _, id := range slices.Sorted(maps.Keys(ends)) {
		if e := ends[id]; !e.paired {
			slices.SortStableFunc(e.uses, func(a, b use) int { return cmp.Compare(a.a, b.a) })
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b *conn) int {
		return cmp.Or(cmp.Compare(a.opened, b.opened), cmp.Compare(a.uses[0].a, b.uses[0].a))
	})
	return list
}

// look returns nil if it is not certain how the clocks differ.
func (x *order) look(p, q int) *view {
	v := &view{slack: exact}
	if c := x.clocks[[2]int{p, q}]; c != nil && c.pairs > 0 {
		v.ids, v.same, v.offset = true, c.same, c.offset
		if !c.same {
			v.slack = unsure
		}
	} else if base, known := x.wallOffset(p, q); known && base > -sameHost && base < sameHost {
		v.same, v.offset = true, func(int64) int64 { return 0 }
	} else if d := x.estimate(p, q, base); d != nil {
		v.offset, v.slack = d.offset, unsure
	} else {
		return nil
	}
	v.callerBegan = x.services[p].began
	v.calleeBegan = v.here(x.services[q].began)
	v.from, v.to = math.MaxInt64, math.MinInt64
	from, to := v.from, v.to
	for _, e := range x.callers[p] {
		v.from, v.to = min(v.from, e.uses[0].a), max(v.to, e.uses[len(e.uses)-1].b)
	}
	for _, e := range x.callees[q] {
		from, to = min(from, e.uses[0].a), max(to, e.uses[len(e.uses)-1].b)
	}
	v.from, v.to = max(v.from, v.here(from)), min(v.to, v.here(to))
	return v
}

// here returns a time of the callee by the caller's clock, by which offset goes.
func (v *view) here(at int64) int64 { return at + v.offset(at+v.offset(at)) }

// link adds the calls of pairs, if the first service's requests led to them.
func (x *order) link() {
	for i := range x.matches {
		m := &x.matches[i]
		v, c := x.viewOf(m.pairOf), x.clock(m.caller.service, m.callee.service)
		for _, u := range m.uses {
			a, b := &m.caller.uses[u[0]], &m.callee.uses[u[1]]
			if !v.ids {
				c.add(a.a, a.b, b.a, min(b.b, a.b-v.offset(a.a)))
			}
		}
	}
	for key, v := range x.views {
		if c := x.clocks[key]; c != nil && !v.ids {
			c.same = v.same
		}
	}
	reached := x.reach()
	for i := range x.matches {
		m := &x.matches[i]
		c := x.clock(m.caller.service, m.callee.service)
		for _, u := range m.uses {
			a, b := &m.caller.uses[u[0]], &m.callee.uses[u[1]]
			if a.request < 0 || b.request < 0 || !reached[m.caller.service][a.request] {
				continue
			}
			l := link{caller: a.of(m.caller.service), callee: b.of(m.callee.service), at: a.at}
			l.ordered, l.likely = true, !m.sure
			q, off := x.request(l.callee), c.offset(a.a)
			l.from, l.to = max(q.begin()+off, a.at), max(q.sent+off, a.at)
			x.links = append(x.links, l)
		}
	}
	x.sortLinks()
	for k, s := range x.services {
		for _, e := range s.callers {
			for _, u := range e.uses {
				if u.request >= 0 && !u.marked && reached[k][u.request] {
					x.unmarked++
				}
			}
		}
	}
}

// reach says of each service's requests whether they are the first service's, or what these led to.
func (x *order) reach() [][]bool {
	seen := make([][]bool, len(x.services))
	for k, s := range x.services {
		seen[k] = make([]bool, len(s.requests))
	}
	for i := range seen[0] {
		seen[0][i] = true
	}
	for more := true; more; {
		more = false
		visit := func(caller, callee ref) {
			if caller.request >= 0 && callee.request >= 0 && seen[caller.service][caller.request] &&
				!seen[callee.service][callee.request] {
				seen[callee.service][callee.request], more = true, true
			}
		}
		for i := range x.links {
			visit(x.links[i].caller, x.links[i].callee)
		}
		for i := range x.matches {
			m := &x.matches[i]
			for _, u := range m.uses {
				visit(m.caller.uses[u[0]].of(m.caller.service), m.callee.uses[u[1]].of(m.callee.service))
			}
		}
	}
	return seen
}
