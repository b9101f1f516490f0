package across

import (
	"cmp"
	"slices"
)

// pairBy pairs ends by the votes of one in so many seconds of the caller's clock.
func (x *order) pairBy(every int64, ratios ...float64) {
	votes := func(at int64) bool { return at/turn%every == 0 }
	for k := range x.services {
		var callers []*view
		for p := range x.services {
			if v := x.views[[2]int{p, k}]; v != nil {
				callers = append(callers, v)
			}
		}
		x.calls = append(x.calls, queueOf(free(x.callers[k]), votes))
		x.requests = append(x.requests, queueOf(free(x.callees[k]), func(at int64) bool {
			return slices.ContainsFunc(callers, func(v *view) bool { return every == 1 || votes(v.here(at)) })
		}))
	}
	tally := x.vote()
	for _, ratio := range ratios {
		for n := 0; n < maxRounds && x.round(tally, ratio); n++ {
			tally = x.vote()
		}
	}
	x.calls, x.requests = nil, nil
}

// queued is a use that votes for one of the other side.
type queued struct {
	*use

	end   *conn
	other *conn // of the vote; nil: none yet
	gap   int64 // how much of the call the request does not fill
}

// queueOf returns the uses of ends that vote, by a.
func queueOf(ends []*conn, votes func(at int64) bool) []queued {
	n := 0
	for _, e := range ends {
		for i := range e.uses {
			if votes(e.uses[i].a) {
				n++
			}
		}
	}
	list := make([]queued, 0, n)
	for _, e := range ends {
		for i := range e.uses {
			if votes(e.uses[i].a) {
				list = append(list, queued{use: &e.uses[i], end: e})
			}
		}
	}
	slices.SortFunc(list, func(a, b queued) int { return cmp.Compare(a.a, b.a) })
	return list
}

func (u *queued) wants(gap int64) bool { return u.other == nil || gap < u.gap }

func (u *queued) offer(other *conn, gap int64) {
	if u.wants(gap) {
		u.other, u.gap = other, gap
	}
}

// round pairs the ends that have ratio times the votes of the next best. It reports whether another
// vote may find more.
func (x *order) round(votes map[pairOf]float64, ratio float64) bool {
	type top struct{ first, second float64 }
	tops := map[*conn]*top{}
	for p, n := range votes {
		for _, e := range []*conn{p.caller, p.callee} {
			t := tops[e]
			if t == nil {
				t = &top{}
				tops[e] = t
			}
			t.first, t.second = max(t.first, n), max(t.second, min(t.first, n))
		}
	}
	var clear []pairOf
	for p, n := range votes {
		a, b := tops[p.caller], tops[p.callee]
		if n >= max(a.first, b.first, ratio*max(a.second, b.second, 1)) &&
			min(len(p.caller.uses), len(p.callee.uses)) >= enoughCalls {
			clear = append(clear, p)
		}
	}
	slices.SortFunc(clear, func(a, b pairOf) int { return cmp.Or(cmp.Compare(votes[b], votes[a]), a.compare(b)) })
	more := false
	for _, p := range clear {
		if p.caller.paired || p.callee.paired {
			continue
		}
		v := x.viewOf(p)
		uses, share := v.align(p.caller, p.callee)
		switch {
		case share < enoughShare:
			x.wrong[p], more = true, true
		case len(uses) >= enoughCalls:
			x.pair(match{p, uses, ratio >= enoughRatio})
			v.paired, more = true, true
		}
	}
	return more
}

func (p pairOf) compare(o pairOf) int {
	return cmp.Or(cmp.Compare(p.caller.service, o.caller.service), cmp.Compare(p.callee.service, o.callee.service),
		cmp.Compare(p.caller.uses[0].a, o.caller.uses[0].a), cmp.Compare(p.callee.uses[0].a, o.callee.uses[0].a))
}

func (x *order) viewOf(p pairOf) *view { return x.views[[2]int{p.caller.service, p.callee.service}] }

func (x *order) pair(m match) {
	m.caller.paired, m.callee.paired = true, true
	x.matches = append(x.matches, m)
}

// vote counts votes by calls and by requests.
func (x *order) vote() map[pairOf]float64 {
	for k := range x.services {
		for _, l := range []*[]queued{&x.calls[k], &x.requests[k]} {
			*l = slices.DeleteFunc(*l, func(u queued) bool { return u.end.paired })
			for i := range *l {
				(*l)[i].other = nil
			}
		}
	}
	for p := range x.services {
		for q := range x.services {
			if v := x.views[[2]int{p, q}]; v != nil {
				x.ask(v, x.calls[p], x.requests[q])
			}
		}
	}
	votes := map[pairOf]float64{}
	for k := range x.services {
		for i := range x.calls[k] {
			if u := &x.calls[k][i]; u.other != nil {
				votes[pairOf{u.end, u.other}]++
			}
		}
		for i := range x.requests[k] {
			if u := &x.requests[k][i]; u.other != nil {
				votes[pairOf{u.other, u.end}]++
			}
		}
	}
	return votes
}

// ask compares each call with the requests in it.
func (x *order) ask(v *view, calls, requests []queued) {
	first := 0
	for k := range calls {
		call := &calls[k]
		off := v.offset(call.a)
		from, to := call.a-off-v.slack, call.b-off+v.slack
		for first < len(requests) && requests[first].a < from {
			first++
		}
		for first > 0 && requests[first-1].a >= from { // the offset may go down
			first--
		}
		for i := first; i < min(len(requests), first+maxChoice) && requests[i].a <= to; i++ {
			u := &requests[i]
			if u.b > to && !u.open {
				continue
			}
			gap := max(u.a-(call.a-off), 0) + abs(call.b-off-u.b)
			if (call.wants(gap) || u.wants(gap)) && !x.wrong[pairOf{call.end, u.end}] && v.maybe(call.end, u.end) {
				call.offer(u.end, gap)
				u.offer(call.end, gap)
			}
		}
	}
}

func abs(n int64) int64 { return max(n, -n) }
