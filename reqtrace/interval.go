package reqtrace

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// How an interval is found: the trace is cut into blocks of equal time, blocks are drawn again and again with
// replacement, and each drawing gives a forecast. Slow requests come together (a convoy, a collection), so
// blocks are drawn and not requests.
const (
	intervalBlocks = 40
	intervalDraws  = 200
	intervalEdge   = .025 // of the drawings, on each side
	minModelError  = .5   // what the replay cannot know is taken as this much, however well it repeats what was measured
)

// spread counts times by blocks of the trace, in buckets 1/16 of their value wide or less: drawing blocks again adds
// counts, and no request is looked at twice. Its size does not depend on how many requests there are.
//
//	counts   bucket 0: block 0 … 39 │ bucket 1: block 0 … 39 │ …     grows to the bucket of the largest time
type spread struct {
	from, width int64 // of the trace's time: the start of the first block, the length of one
	counts      []uint32
	requests    [intervalBlocks]int
}

const subBuckets = 16 // of each power of two

// newSpread returns an empty spread of requests that arrive between two times.
func newSpread(from, to int64) spread { return spread{from: from, width: (to-from)/intervalBlocks + 1} }

func bucketOf(ns int64) int {
	if ns < subBuckets {
		return int(max(ns, 0))
	}
	shift := bits.Len64(uint64(ns)) - bits.Len64(subBuckets)
	return (shift+1)*subBuckets + int(ns>>shift) - subBuckets
}

// middleOf returns the time in the middle of a bucket.
func middleOf(bucket int) float64 {
	if bucket < subBuckets {
		return float64(bucket)
	}
	shift := bucket/subBuckets - 1
	return (float64(bucket%subBuckets+subBuckets) + .5) * math.Ldexp(1, shift)
}

// add counts a request. Without the collector some arrive before the first did with it.
func (s *spread) add(arrival, ns int64) {
	b := bucketOf(ns)
	if n := (b + 1) * intervalBlocks; n > len(s.counts) {
		s.counts = append(s.counts, make([]uint32, n-len(s.counts))...)
	}
	block := min(max((arrival-s.from)/s.width, 0), intervalBlocks-1)
	s.counts[b*intervalBlocks+int(block)]++
	s.requests[block]++
}

// tail returns the 99th percentile, and the mean from there up, where each block is there so many times; 0 where
// nothing is drawn.
func (s *spread) tail(times *[intervalBlocks]uint32) (p99, mean float64) {
	n := 0
	for i, k := range times {
		n += int(k) * s.requests[i]
	}
	need := n - int(.99*float64(n))
	if n == 0 {
		return 0, 0
	}
	got, sum := 0, 0.
	for b := len(s.counts)/intervalBlocks - 1; b >= 0; b-- {
		here := 0
		for i, c := range s.counts[b*intervalBlocks : (b+1)*intervalBlocks] {
			here += int(c * times[i])
		}
		here = min(here, need-got)
		got += here
		sum += float64(here) * middleOf(b)
		if got == need {
			return middleOf(b), sum / float64(need)
		}
	}
	return 0, 0
}

// draw fills in the intervals of w: of the forecast, and of the collector's share.
//
// Invariants: Low <= Forecast <= High, and TailLow <= TailShare <= TailHigh. Both are as wide as the blocks of time
// differ; the forecast's is wider by the replay's own error, at least by [minModelError], since a forecast that
// puts the replay right by that error supposes that it is the same without the collector. In the runs that it was held against
// (make bench-explain) forecasts missed by 40% in the median where the replay missed by a tenth. The share is taken from the
// replay alone and from what was measured, and the interval holds both.
func (w *WhatIf) draw(actual, with, without *spread) {
	if w.Forecast == 0 {
		return
	}
	random := rand.New(rand.NewPCG(1, 2)) // the same trace, the same report
	var forecasts, shares []float64
	for range intervalDraws {
		var times [intervalBlocks]uint32
		for range times {
			times[random.IntN(intervalBlocks)]++
		}
		a, aTail := actual.tail(&times)
		r, rTail := with.tail(&times)
		f, fTail := without.tail(&times)
		if a == 0 || r == 0 {
			continue
		}
		forecasts = append(forecasts, f/r*a)
		shares = append(shares, share(rTail, fTail, w.Replayed), share(aTail, fTail*aTail/rTail, w.Actual))
	}
	e := 1 + max(math.Abs(w.ModelError), 1/(1+w.ModelError)-1, minModelError)
	low, high := edges(forecasts, float64(w.Forecast))
	w.Low, w.High = dur(int64(low/e)), dur(int64(high*e))
	w.TailLow, w.TailHigh = edges(shares, w.TailShare)
}

// share returns which part of a tail's excess over the median is gone without the collector, 0 to 1.
func share(tail, without float64, of Quantiles) float64 {
	more := tail - float64(of.P50)
	if more <= 0 {
		return 0
	}
	return min(max((tail-without)/more, 0), 1)
}

// edges returns the interval of what was drawn; it holds the point.
func edges(drawn []float64, point float64) (low, high float64) {
	if len(drawn) == 0 {
		return point, point
	}
	slices.Sort(drawn)
	n := float64(len(drawn) - 1)
	return min(drawn[int(intervalEdge*n)], point), max(drawn[int(math.Ceil((1-intervalEdge)*n))], point)
}
