package tailstat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSigns holds the bits' ranks against a slice's.
func TestSigns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var s signs
		var all []bool
		for n := range MaxRounds {
			rank := rng.IntN(n + 1)
			above := 0
			for _, positive := range all[rank:] {
				if positive {
					above++
				}
			}
			if got := s.above(rank); got != above {
				t.Fatalf("%d above rank %d of %d, want %d", got, rank, n, above)
			}
			positive := rng.IntN(2) == 1
			s.insert(rank, positive)
			all = slices.Insert(all, rank, positive)
		}
		for i, positive := range all {
			if got := s[i/64]>>(i%64)&1 == 1; got != positive {
				t.Fatalf("rank %d is positive: %v, want %v", i, got, positive)
			}
		}
	}
}

// TestLooks goes on with noise whose size changes and whose neighbours are alike, and looks after each round: the
// share of sequences in which any interval misses the truth is the level.
func TestLooks(t *testing.T) {
	const sequences = 1000
	for _, rounds := range []int{9, 18} {
		rng := rand.New(rand.NewPCG(7, uint64(rounds)))
		level := 1 - perLook(.05, rounds)
		wrong := 0
		for range sequences {
			var d []float64
			size := 1.0
			missed := false
			for range rounds {
				size = .8*size + .4*math.Exp(2*rng.NormFloat64()) // a machine with its good and its bad minutes
				x := size
				if rng.IntN(2) == 0 { // the order was random
					x = -x
				}
				d = append(d, .3+x)
				e, err := SignedRank(d, level)
				if err != nil {
					t.Fatal(err)
				}
				missed = missed || e.Low > .3 || e.High < .3
			}
			if missed {
				wrong++
			}
		}
		got := float64(wrong) / sequences
		t.Logf("%d rounds: each look's level %.4f, %.4f of sequences err", rounds, 1-level, got)
		if got > .05+4*math.Sqrt(.05*.95/sequences) || got < .02 {
			t.Errorf("%d rounds: %.4f of sequences err, want 0.05 at most", rounds, got)
		}
	}
}
