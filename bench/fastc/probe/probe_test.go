//go:build cgo && linux

package main

import (
	"math"
	"runtime/metrics"
	"testing"
	"time"

	"evenkeel.dev/bench/fastc/sig"
)

// TestWaysAgree: each way computes what C does.
func TestWaysAgree(t *testing.T) {
	for _, s := range sig.Signatures {
		want := s.C(1000)
		for name, way := range ways {
			loop := way(s)
			if loop == nil {
				t.Logf("%s: no %s here", s.Name, name)
				continue
			}
			if got := loop(1000); math.Abs(got-want) > 1e-9*math.Abs(want) {
				t.Errorf("%s by %s: %v, want %v", s.Name, name, got, want)
			}
		}
	}
}

func TestQuantile(t *testing.T) {
	edges := []float64{0, 1, 2, 4, math.Inf(1)}
	before := &metrics.Float64Histogram{Counts: []uint64{5, 0, 7, 0}, Buckets: edges}
	after := &metrics.Float64Histogram{Counts: []uint64{5 + 90, 9, 7 + 1, 0}, Buckets: edges}
	for q, want := range map[float64]float64{.5: 1, .9: 1, .91: 2, .99: 2, 1: 4} {
		if got := quantile(before, after, q); got != want {
			t.Errorf("%v: %v, want %v", q, got, want)
		}
	}
	if got := quantile(after, after, .99); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// TestPerCall: a loop that takes a microsecond a turn is found to.
func TestPerCall(t *testing.T) {
	loop := func(n int) float64 {
		for end := time.Now().Add(time.Duration(n) * time.Microsecond); time.Now().Before(end); {
		}
		return 0
	}
	if ns := perCall(loop, 5*time.Millisecond); ns < 1000 {
		t.Errorf("%v ns", ns)
	}
}
