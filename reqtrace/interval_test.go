package reqtrace

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestBuckets(t *testing.T) {
	last := -1
	for ns := int64(0); ns < 1<<40; ns += ns/100 + 1 {
		b := bucketOf(ns)
		if b < last {
			t.Fatalf("%d ns is in bucket %d, and less is in %d", ns, b, last)
		}
		if mid := middleOf(b); math.Abs(mid-float64(ns)) > max(float64(ns)/subBuckets, .5) {
			t.Fatalf("%d ns is in bucket %d, whose middle is %g", ns, b, mid)
		}
		last = b
	}
}

// spreadOf has a request of each of these times, evenly over the blocks in the order given.
func spreadOf(times []int64) *spread {
	s := newSpread(0, int64(len(times)-1))
	for i, ns := range times {
		s.add(int64(i), ns)
	}
	return &s
}

func TestSpreadTail(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	times := make([]int64, 10_000)
	for i := range times {
		times[i] = int64(1e6 * random.ExpFloat64())
	}
	s := spreadOf(times)
	once := [intervalBlocks]uint32{}
	for i := range once {
		once[i] = 1
	}
	slices.Sort(times)
	want := quantiles(times)
	p99, mean := s.tail(&once)
	if math.Abs(p99/float64(want.P99)-1) > .05 || math.Abs(mean/float64(want.Tail)-1) > .05 {
		t.Errorf("%g, %g; want %d, %d", p99, mean, want.P99, want.Tail)
	}
	if p99, mean := s.tail(&[intervalBlocks]uint32{}); p99 != 0 || mean != 0 {
		t.Errorf("nothing is drawn: %g, %g", p99, mean)
	}
}

// TestInterval: it is as wide as the blocks of time differ and as the replay errs, and holds the forecast.
func TestInterval(t *testing.T) {
	scaled := func(times []int64, by float64) *simulated {
		list := make([]int64, len(times))
		for i, ns := range times {
			list[i] = int64(by * float64(ns))
		}
		s := spreadOf(list)
		slices.Sort(list)
		return &simulated{list, *s}
	}
	of := func(times []int64, with, without float64) WhatIf {
		a, r, f := scaled(times, 1), scaled(times, with), scaled(times, without)
		w := newWhatIf(quantiles(a.times), r, f)
		w.draw(&a.spread, &r.spread, &f.spread)
		if w.Low > w.Forecast || w.Forecast > w.High || w.TailLow > w.TailShare || w.TailShare > w.TailHigh {
			t.Errorf("the intervals do not hold their figures: %+v", w)
		}
		return w
	}
	width := func(w WhatIf) float64 { return float64(w.High) / float64(w.Low) }
	const n = 8000
	random := rand.New(rand.NewPCG(3, 4))
	even, clustered := make([]int64, n), make([]int64, n)
	for i := range even {
		even[i] = 1e6 + random.Int64N(1e6)
		clustered[i] = even[i]
		if i > n/2 && i < n/2+n/50 { // all slow ones in one or two blocks
			clustered[i] = 20e6 + random.Int64N(80e6)
		}
	}
	steady, moving, wrong := of(even, 1, .5), of(clustered, 1, .5), of(even, 3, .5)
	if w := width(steady); w < 2.25 || w > 2.5 { // the least that it says of the model, twice
		t.Errorf("evenly slow: %v to %v", steady.Low, steady.High)
	}
	if width(moving) < 4*width(steady) {
		t.Errorf("the slow ones in one place: %v to %v, and evenly %v to %v", moving.Low, moving.High, steady.Low, steady.High)
	}
	if width(wrong) < 1.3*width(steady) {
		t.Errorf("a replay that errs: %v to %v, and one that does not %v to %v", wrong.Low, wrong.High, steady.Low, steady.High)
	}
	if again := of(clustered, 1, .5); again != moving {
		t.Errorf("once %+v, then %+v", moving, again)
	}
	var nothing WhatIf
	nothing.draw(&spread{width: 1}, &spread{width: 1}, &spread{width: 1})
	if nothing != (WhatIf{}) {
		t.Errorf("of nothing: %+v", nothing)
	}
}
