package across

import (
	"cmp"
	"slices"
)

const (
	sameHost = int64(1_000_000) // ns between clocks that are one clock
	unsure   = int64(300_000)   // ns that an estimate may be wrong by

	farthest = int64(1_000_000_000) // ns between the clocks of two hosts
	// ns by which a call may be longer than its request
	widest    = int64(800_000)
	narrowest = int64(100_000)
	period    = int64(1_000_000_000) // ns in which clocks drift by less than a bin
	drifted   = int64(10_000_000)    // ns in a trace

	maxPeriods = 86_400
	maxAsked   = 2048
	leastVotes = 8
	leastPeak  = 2 // of the next peak
)

// drift is how far a callee's clock is behind its caller's, in periods of the caller's clock.
type drift struct {
	first   int64 // number of the first period
	offsets []int64
}

func (d *drift) offset(at int64) int64 {
	return d.offsets[max(min(at/period-d.first, int64(len(d.offsets))-1), 0)]
}

// wallOffset returns how far a callee's clock is behind its caller's if the wall clocks agree.
func (j *joiner) wallOffset(p, q int) (offset int64, known bool) {
	caller, callee := j.services[p].wall, j.services[q].wall
	if caller == 0 || callee == 0 {
		return 0, false
	}
	return callee - caller, true
}

// estimate finds the offset at which most calls have a request that takes as long:
//
//	offset    -2 ms   -1 ms    0       1 ms    2 ms
//	votes       ▂ ▃     ▂       ▂ █      ▃       ▂       a call has one vote for each bin, so
//	                              └ clear                bursts have no more than others
//
// It returns nil if there is no such offset within a second of base, or several.
func (x *order) estimate(p, q int, base int64) *drift {
	calls, requests := flat(x.callers[p]), flat(x.callees[q])
	slices.SortFunc(requests, func(a, b use) int { return cmp.Compare(a.b-a.a, b.b-b.a) })
	if n := len(calls); n > maxAsked {
		for i := range maxAsked {
			calls[i] = calls[i*n/maxAsked]
		}
		calls = calls[:maxAsked]
	}
	for width := widest; width >= narrowest; width /= 2 {
		if offset, ok := peak(calls, requests, base, width); ok {
			return track(calls, requests, base, offset, width)
		}
	}
	return nil
}

// peak uses bins that are half as wide as durations may differ.
func peak(calls, requests []use, base, width int64) (offset int64, ok bool) {
	bin := width / 2
	// The last call that voted for a bin, and the votes.
	bins := make([]struct{ by, n int }, 2*farthest/bin+1)
	sum := 0
	alikes(calls, requests, base, farthest, width, func(call int, offset, _ int64) {
		b := &bins[(offset+farthest)/bin]
		if b.by != call+1 {
			b.by, b.n = call+1, b.n+1
			sum++
		}
	})
	votes := func(i int) int { return bins[i].n + bins[i+1].n } // a peak may lie at an edge
	most, next := 0, 0
	for i := range len(bins) - 1 {
		if votes(i) > votes(most) {
			most = i
		}
	}
	for i := range len(bins) - 1 {
		if i < most-4 || i > most+4 {
			next = max(next, votes(i))
		}
	}
	mean := 2 * sum / len(bins)
	return int64(most+1)*bin - farthest, votes(most)-mean >= leastVotes+leastPeak*(next-mean)
}

func flat(ends []*conn) []use {
	var all []use
	for _, e := range ends {
		all = append(all, e.uses...)
	}
	slices.SortFunc(all, func(a, b use) int { return cmp.Compare(a.a, b.a) })
	return all
}

// alikes finds the calls and requests that take as long, with what to add to base. The requests go
// up by the time that they took.
func alikes(calls, requests []use, base, within, width int64, yield func(call int, offset, gap int64)) {
	for i := range calls {
		c := &calls[i]
		from, _ := slices.BinarySearchFunc(requests, c.b-c.a-width, func(r use, d int64) int {
			return cmp.Compare(r.b-r.a, d)
		})
		for ; from < len(requests); from++ {
			r := &requests[from]
			gap := c.b - c.a - (r.b - r.a)
			if gap < -width/4 {
				break
			}
			if off := c.a - r.a - base + gap/2; off >= -within && off <= within {
				yield(i, off, abs(gap))
			}
		}
	}
}

// track follows the offset from the period in which most calls agree with it to the others.
func track(calls, requests []use, base, offset, width int64) *drift {
	type alike struct{ offset, gap int64 }
	if calls[len(calls)-1].a/period-calls[0].a/period > maxPeriods {
		return nil
	}
	d := &drift{first: calls[0].a / period}
	periods := make([][]alike, calls[len(calls)-1].a/period-d.first+1)
	d.offsets = make([]int64, len(periods))
	around := make([]int, len(periods))
	alikes(calls, requests, base+offset, drifted, width, func(call int, off, gap int64) {
		n := calls[call].a/period - d.first
		periods[n] = append(periods[n], alike{off, gap})
		if abs(off) <= width {
			around[n]++
		}
	})
	// Pairs with small gaps tell it best.
	center := func(n int, near int64) int64 {
		list := slices.DeleteFunc(periods[n], func(a alike) bool { return abs(a.offset-near) > width })
		if len(list) < leastVotes {
			return near
		}
		slices.SortFunc(list, func(a, b alike) int { return cmp.Compare(a.gap, b.gap) })
		list = list[:(len(list)+3)/4]
		slices.SortFunc(list, func(a, b alike) int { return cmp.Compare(a.offset, b.offset) })
		return list[len(list)/2].offset
	}
	most := slices.Index(around, slices.Max(around))
	d.offsets[most] = center(most, 0)
	for n := most + 1; n < len(periods); n++ {
		d.offsets[n] = center(n, d.offsets[n-1])
	}
	for n := most - 1; n >= 0; n-- {
		d.offsets[n] = center(n, d.offsets[n+1])
	}
	for n := range d.offsets {
		d.offsets[n] += base + offset
	}
	return d
}
