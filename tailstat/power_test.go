package tailstat

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTrials holds the statistic of each trial against that of the values drawn, in order, as the textbooks have it.
func TestTrials(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 9))
	some := func(n int) (xs []float64) {
		for range n {
			xs = append(xs, rng.NormFloat64())
		}
		return append(xs, xs[0]) // two runs may be alike
	}
	draw := func(rng *rand.Rand, from []float64, n int, shift float64) (xs []float64) {
		for range n {
			xs = append(xs, shift+from[rng.IntN(len(from))])
		}
		return xs
	}
	signedRank := func(d []float64) (w int) {
		slices.SortFunc(d, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
		for i, v := range d {
			if v <= 0 {
				w += i + 1
			}
		}
		return w
	}
	rankSum := func(base, head []float64) (w int) {
		for _, y := range head {
			for _, x := range base {
				if x >= y {
					w++
				}
			}
		}
		return w
	}
	paired, loose := pairedNoise(some(9), .1, .95), looseNoise(some(7), some(11), .95)
	for _, runs := range []int{1, 3, 10, 100} {
		for _, shift := range []float64{.001, .3, 5} {
			seed := func() *rand.Rand { return rand.New(rand.NewPCG(uint64(runs), 1)) }
			want, pairs, sums := seed(), paired.pairedTrial(seed(), runs, runs, shift), 0
			for range 20 {
				w := signedRank(draw(want, paired.base, runs, shift))
				if got := pairs(); got != w {
					t.Fatalf("%d rounds, %v apart: %d, want %d", runs, shift, got, w)
				}
				sums += w
			}
			want, sets := seed(), loose.looseTrial(seed(), runs, runs+1, shift)
			for range 20 {
				base := draw(want, loose.base, runs, 0)
				w := rankSum(base, draw(want, loose.head, runs+1, shift))
				if got := sets(); got != w {
					t.Fatalf("%d and %d runs, %v apart: %d, want %d", runs, runs+1, shift, got, w)
				}
				sums += w
			}
			if shift < 1 && sums == 0 {
				t.Errorf("%d runs, %v apart: all statistics are 0", runs, shift)
			}
		}
	}
}
