package gctrace

import (
	"math"
	"runtime/metrics"
	"time"
)

// pauses is the runtime's histogram of stop-the-world times. counts[i] of them lasted from
// bounds[i] to bounds[i+1] seconds. Nobody writes to either.
type pauses struct {
	counts []uint64
	bounds []float64
	known  bool
}

func pausesOf(v metrics.Value) pauses {
	if v.Kind() != metrics.KindFloat64Histogram {
		return pauses{}
	}
	h := v.Float64Histogram()
	return pauses{counts: h.Counts, bounds: h.Buckets, known: true}
}

// since estimates the sum of the pauses between two snapshots from the middle of each bucket. The
// longest is an upper bound, absent without a pause.
func (p pauses) since(before pauses) (sum, longest Value[time.Duration]) {
	if !p.known || !before.known || before.counts != nil && len(before.counts) != len(p.counts) {
		return sum, longest
	}
	total := 0.0
	for i, n := range p.counts {
		if before.counts != nil {
			n -= min(before.counts[i], n)
		}
		if n == 0 {
			continue
		}
		low, high := p.bounds[i], p.bounds[i+1]
		if low < 0 {
			low = 0
		}
		if math.IsInf(high, 1) {
			high = low
		}
		total += float64(n) * (low + high) / 2
		longest = Of(time.Duration(math.Ceil(high * 1e9)))
	}
	return Of(time.Duration(total * 1e9)), longest
}
