//go:build linux

package load

import (
	"math"
	"slices"
	"testing"
	"time"
)

// TestStallQuantile compares the formula with a simulation of the service.
func TestStallQuantile(t *testing.T) {
	const n = 100_000
	var xs []time.Duration
	for i := range n {
		into := time.Duration(i) * stallPeriod / n
		x := stallService
		if into < stallLength {
			x += stallLength - into
		}
		xs = append(xs, x)
	}
	slices.Sort(xs)
	for name, q := range quantiles {
		want, got := xs[int(q*n)-1], stallQuantile(q)
		if math.Abs(float64(got-want)) > float64(time.Millisecond) {
			t.Errorf("%s: %v, simulated %v", name, got, want)
		}
	}
}
