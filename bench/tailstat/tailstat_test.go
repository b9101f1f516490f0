//go:build linux

package tailstat

import (
	"math"
	"math/rand/v2"
	"testing"

	"evenkeel.dev/tailstat"
)

// TestTruth holds the simulated queue against what is known of one.
func TestTruth(t *testing.T) {
	s := pairs[0].base
	h := s.run(rand.New(rand.NewPCG(1, 1)), 400_000, 1)
	for _, f := range tails() {
		got, err := f.Of(&tailstat.Run{Latency: h})
		if want := s.truth(f, nil); err != nil || math.Abs(got/want-1) > .12 {
			t.Errorf("%s: %v, %v, want %v", f.Name, got, err, want)
		}
	}
}
