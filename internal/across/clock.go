package across

import "math"

// clock is how far the callee's clock is behind the caller's:
//
//	call at  ≤  begin + offset        answer + offset  ≤  the caller has it, or its request ends
//
// On one host both are CLOCK_MONOTONIC, and the offset is 0. Elsewhere it is in the middle of what the
// calls of a window allow, because clocks drift.
type clock struct {
	windows map[int64]*bounds
	all     bounds
	same    bool // both services have one clock
	pairs   int
	agree   int // of pairs, with an offset of 0
}

type bounds struct{ low, high int64 }

const window = int64(250_000_000) // ns

func (b *bounds) add(low, high int64, first bool) {
	if first {
		*b = bounds{low, high}
	}
	b.low, b.high = max(b.low, low), min(b.high, high)
}

func (c *clock) add(at, end, from, to int64) {
	c.all.add(at-from, end-to, c.pairs == 0)
	c.pairs++
	if at <= from && to <= end {
		c.agree++
	}
	w := c.windows[at/window]
	if w == nil {
		w = &bounds{math.MinInt64, math.MaxInt64}
		c.windows[at/window] = w
	}
	w.add(at-from, end-to, false)
}

// decide compares wall clocks if they are known. Otherwise nearly all calls have to agree, because a
// trace may have some times that are too late (x/exp/trace, reader.go).
func (c *clock) decide(wall int64, known bool) {
	c.same = 100*c.agree >= 98*c.pairs
	if known {
		c.same = wall > -sameHost && wall < sameHost
	}
}

// offset returns what to add to a time of the callee.
func (c *clock) offset(at int64) int64 {
	if c.same || len(c.windows) == 0 {
		return 0
	}
	for k := range int64(len(c.windows)) + int64(maxGap) {
		for _, i := range []int64{at/window - k, at/window + k} {
			if w := c.windows[i]; w != nil {
				return w.low + (w.high-w.low)/2
			}
		}
	}
	return c.all.low + (c.all.high-c.all.low)/2
}

const maxGap = 40 // windows without a call

// Offset returns how far a callee's clock is behind its caller's, and how far that may be wrong.
func (c *clock) Offset() (offset, within int64) {
	if c.same || len(c.windows) == 0 {
		return 0, 0
	}
	for _, w := range c.windows {
		offset += (w.low + (w.high-w.low)/2) / int64(len(c.windows))
		within = max(within, (w.high-w.low)/2)
	}
	return offset, within
}

// certain reports whether the calls agree with a clock.
func (c *clock) certain() bool {
	for _, w := range c.windows {
		if !c.same && w.low > w.high+slack {
			return false
		}
	}
	return true
}
