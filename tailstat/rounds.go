package tailstat

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
)

// MaxRounds limits [Options].Rounds.
const MaxRounds = 200

// Wilcoxon's statistic depends only on the signs of the differences and on their ranks. Without a
// difference each sign is a coin's, and each new size has any rank with the same probability. So
// the joint distribution after all rounds does not depend on the noise (R. G. Miller, A sequential
// signed-rank test, JASA 65, 1970). perLook draws it, and finds the level for each look so that any
// of them errs with the probability alpha (S. J. Pocock, Group sequential methods, Biometrika 64,
// 1977).

// draws is how many sequences are drawn. The level is right within 3% of itself at alpha 0.05,
// within 6% at 0.01.
const draws = 100_000

// perLook returns the level of each of rounds tests, so that one of them rejects by chance with the
// probability alpha at most.
func perLook(alpha float64, rounds int) float64 {
	return smallest(rounds)[int(alpha*draws)] / (1 + 1e-9) // below what alpha of the sequences reach
}

var smallests sync.Map // by rounds: []float64

// smallest returns the smallest p-value of each sequence of so many rounds, sorted. The first call
// takes tenths of a second.
func smallest(rounds int) []float64 {
	if s, ok := smallests.Load(rounds); ok {
		return s.([]float64)
	}
	of := make([]distribution, rounds+1)
	for n := 1; n <= rounds; n++ {
		of[n] = null(n, n, true)
	}
	rng := rand.New(rand.NewPCG(1970, uint64(rounds)))
	all := make([]float64, draws)
	for i := range all {
		least := 1.0
		var s signs
		w := 0 // sum of the ranks of positive differences
		for n := 1; n <= rounds; n++ {
			rank := rng.IntN(n) // of the new size among the n, from 0
			w += s.above(rank)  // each greater positive one moves up by a rank
			positive := rng.IntN(2) == 1
			s.insert(rank, positive)
			if positive {
				w += rank + 1
			}
			least = min(least, of[n].twoSided(min(w, n*(n+1)/2-w)))
		}
		all[i] = least
	}
	slices.Sort(all)
	smallests.Store(rounds, all)
	return all
}

// signs has the bit of a rank set if the difference of that rank is positive.
type signs [(MaxRounds + 63) / 64]uint64

// above returns how many positive ones have the rank or a greater one.
func (s *signs) above(rank int) int {
	n := 0
	for i := rank / 64; i < len(s); i++ {
		word := s[i]
		if i == rank/64 {
			word >>= rank % 64
		}
		n += bits.OnesCount64(word)
	}
	return n
}

// insert moves the ranks from rank on up by one and sets its own.
func (s *signs) insert(rank int, positive bool) {
	at := rank / 64
	for i := len(s) - 1; i > at; i-- {
		s[i] = s[i]<<1 | s[i-1]>>63
	}
	low := uint64(1)<<(rank%64) - 1
	s[at] = s[at]&low | s[at]&^low<<1
	if positive {
		s[at] |= low + 1
	}
}
