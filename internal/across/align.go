package across

import (
	"cmp"
	"slices"
)

// fits reports whether a request may be that of a call, and how much of the call it fills, up to 1.
func (v *view) fits(call, request *use) (fill float64, ok bool) {
	off := v.offset(call.a)
	a, b := request.a+off, request.b+off
	if a < call.a-v.slack || a > call.b+v.slack || b > call.b+v.slack && !request.open {
		return 0, false
	}
	a, b = max(a, call.a), min(b, call.b)
	return float64(max(b-a, 0)) / float64(max(call.b-call.a, 1)), true
}

// align pairs the calls of two ends in their order. It returns which share of the calls are paired,
// of the end with the lower share. A call does not count while one of the traces has none.
func (v *view) align(caller, callee *conn) (uses [][2]int32, share float64) {
	type fit struct {
		i, k int
		fill float64
	}
	var fits []fit
	n := 0
	for i := range caller.uses {
		c := &caller.uses[i]
		off := v.offset(c.a)
		for n < len(callee.uses) && callee.uses[n].a+off < c.a-v.slack {
			n++
		}
		for k := n; k < min(len(callee.uses), n+maxChoice) && callee.uses[k].a+off <= c.b+v.slack; k++ {
			if fill, ok := v.fits(c, &callee.uses[k]); ok {
				fits = append(fits, fit{i, k, fill})
			}
		}
	}
	slices.SortFunc(fits, func(a, b fit) int {
		return cmp.Or(cmp.Compare(b.fill, a.fill), cmp.Compare(a.i, b.i), cmp.Compare(a.k, b.k))
	})
	left, right := make([]bool, len(caller.uses)), make([]bool, len(callee.uses))
	uses = make([][2]int32, 0, min(len(left), len(right)))
	for _, f := range fits {
		if !left[f.i] && !right[f.k] {
			left[f.i], right[f.k] = true, true
			uses = append(uses, [2]int32{int32(f.i), int32(f.k)})
		}
	}
	if n = len(uses); n == 0 {
		return nil, 0
	}
	alone := v.alone(caller.uses, left, func(at int64) int64 { return at })
	alone = max(alone, v.alone(callee.uses, right, v.here))
	if n >= enoughCalls {
		alone = max(alone-1, 0) // of a request that the end of the trace cut off
	}
	share = float64(n) / float64(n+alone)
	if v.same && share >= enoughShare {
		uses = between(uses)
	}
	return uses, share
}

// between pairs calls whose neighbours are paired, as a trace may have times that are too late.
func between(uses [][2]int32) [][2]int32 {
	slices.SortFunc(uses, func(a, b [2]int32) int { return cmp.Compare(a[0], b[0]) })
	for n, next := range uses[1:] {
		last := uses[n]
		if next[0]-last[0] != next[1]-last[1] {
			continue
		}
		for i := int32(1); i < next[0]-last[0]; i++ {
			uses = append(uses, [2]int32{last[0] + i, last[1] + i})
		}
	}
	return uses
}

// alone counts the uses that are not paired though both traces have calls.
func (v *view) alone(uses []use, paired []bool, here func(at int64) int64) (n int) {
	for i := range uses {
		if !paired[i] && here(uses[i].a) >= v.from && here(uses[i].b) <= v.to {
			n++
		}
	}
	return n
}

// candidate is a pair whose ends were opened or used too little to vote.
type candidate struct {
	match
	fill float64 // of a call, on average
}

// rest pairs the ends that no vote paired.
func (x *order) rest() {
	var old []candidate // opened before the trace, in an order that is not known
	var opened [][]candidate
	for p, callers := range x.callers {
		for q, callees := range x.callees {
			if v := x.views[[2]int{p, q}]; v != nil && v.paired {
				before, during := v.candidates(free(callers), free(callees))
				old, opened = append(old, before...), append(opened, during)
			}
		}
	}
	paired := func(c candidate) bool { return c.caller.paired || c.callee.paired }
	for range maxRounds {
		all := slices.Clone(old)
		for i := range opened {
			opened[i] = slices.DeleteFunc(opened[i], paired)
			all = append(all, inOrder(opened[i])...)
		}
		slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.fill, a.fill) })
		found := false
		for _, c := range all {
			if !paired(c) {
				x.pair(c.match)
				found = true
			}
		}
		if !found {
			return
		}
	}
}

func free(ends []*conn) []*conn {
	return slices.DeleteFunc(slices.Clone(ends), func(e *conn) bool { return e.paired })
}

// candidates returns the pairs whose calls agree, of ends that were opened before the trace, and during it.
func (v *view) candidates(callers, callees []*conn) (before, during []candidate) {
	for k, o := range callees {
		o.number = k
	}
	slices.SortStableFunc(callees, func(a, b *conn) int { return cmp.Compare(a.uses[0].a, b.uses[0].a) })
	longest := int64(0)
	for _, o := range callees {
		longest = max(longest, o.uses[len(o.uses)-1].a-o.uses[0].a)
	}
	for i, e := range callers {
		e.number = i
		from, to := e.uses[0].a-v.slack, e.uses[len(e.uses)-1].b+v.slack
		off := v.offset(from)
		at, _ := slices.BinarySearchFunc(callees, from-off-longest, func(o *conn, t int64) int {
			return cmp.Compare(o.uses[0].a, t)
		})
		for n := 0; n < maxChoice && at < len(callees) && callees[at].uses[0].a+off <= to; at++ {
			o := callees[at]
			if o.uses[len(o.uses)-1].a+off < from || !v.maybe(e, o) {
				continue
			}
			n++
			uses, share := v.align(e, o)
			if share < enoughShare {
				continue
			}
			c := candidate{match: match{pairOf{e, o}, uses, false}}
			for _, u := range uses {
				fill, _ := v.fits(&e.uses[u[0]], &o.uses[u[1]])
				c.fill += fill / float64(len(uses))
			}
			if e.opened == 0 || o.opened == 0 {
				before = append(before, c)
			} else {
				during = append(during, c)
			}
		}
	}
	return before, during
}

// maybe compares when two ends were opened. The callee accepts after the caller has connected.
func (v *view) maybe(caller, callee *conn) bool {
	at := v.here(callee.opened)
	switch {
	case caller.opened == 0 && callee.opened == 0:
		return true
	case caller.opened == 0:
		return at <= v.callerBegan+accepts
	case callee.opened == 0:
		return caller.opened <= v.calleeBegan+starts
	}
	return at >= caller.opened-v.slack && at <= caller.opened+accepts
}

// inOrder returns the heaviest candidates of two services whose ends were opened in the same order.
func inOrder(list []candidate) []candidate {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.caller.number, b.caller.number), cmp.Compare(b.callee.number, a.callee.number))
	})
	n := 0
	for _, c := range list {
		n = max(n, c.callee.number+1)
	}
	// A Fenwick tree has the last candidate of the heaviest way that ends below a number, or 0.
	tree, before, sum := make([]int, n+1), make([]int, len(list)+1), make([]float64, len(list)+1)
	last := 0
	for at, c := range list {
		best := 0
		for k := c.callee.number; k > 0; k &= k - 1 {
			if sum[tree[k]] > sum[best] {
				best = tree[k]
			}
		}
		at++
		before[at], sum[at] = best, sum[best]+float64(len(c.uses))*(1+c.fill)
		for k := c.callee.number + 1; k <= n; k += k & -k {
			if sum[at] > sum[tree[k]] {
				tree[k] = at
			}
		}
		if sum[at] > sum[last] {
			last = at
		}
	}
	var way []candidate
	for ; last > 0; last = before[last] {
		way = append(way, list[last-1])
	}
	slices.Reverse(way)
	return way
}
