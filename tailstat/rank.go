package tailstat

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
)

type estimate struct {
	value     float64
	low, high float64 // the interval; infinite with too few values
	p         float64
}

// SignedRank returns the interval of Wilcoxon's signed-rank test for the centre of differences, at
// a level such as 0.95. Bounds are infinite with too few values. Values that are not finite are an
// error. It costs n² log n.
func SignedRank(differences []float64, level float64) (low, high float64, err error) {
	switch {
	case !(level > 0 && level < 1):
		return 0, 0, fmt.Errorf("tailstat: the level %v of an interval lies between 0 and 1; write 0.95, say", level)
	case len(differences) == 0:
		return 0, 0, errors.New("tailstat: no values; give one of each run")
	}
	for _, x := range differences {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return 0, 0, fmt.Errorf("tailstat: %v among the values; leave out the figure that it is of", x)
		}
	}
	e := signedRank(differences, level)
	return e.low, e.high, nil
}

// Ties and zeros count against a difference.
func signedRank(differences []float64, level float64) estimate {
	n := len(differences)
	averages := make([]float64, 0, n*(n+1)/2) // Walsh's
	for i, x := range differences {
		for _, y := range differences[:i+1] {
			averages = append(averages, (x+y)/2)
		}
	}
	return newEstimate(averages, null(n, n, true), 1-level)
}

// rankSum estimates by how much head's values exceed base's, by Wilcoxon's rank-sum test. Ties
// count against a difference.
func rankSum(base, head []float64, level float64) estimate {
	shifts := make([]float64, 0, len(base)*len(head))
	for _, x := range base {
		for _, y := range head {
			shifts = append(shifts, y-x)
		}
	}
	return newEstimate(shifts, null(len(base), len(head), false), 1-level)
}

// newEstimate takes all Walsh averages, or all differences of base and head. The statistic is the
// number of those below zero.
func newEstimate(all []float64, null distribution, alpha float64) estimate {
	slices.Sort(all)
	n := len(all)
	e := estimate{value: (all[(n-1)/2] + all[n/2]) / 2, low: math.Inf(-1), high: math.Inf(1)}
	if c := null.critical(alpha); c >= 0 {
		e.low, e.high = all[c], all[n-1-c]
	}
	notAbove, _ := slices.BinarySearch(all, math.SmallestNonzeroFloat64)
	below, _ := slices.BinarySearch(all, 0)
	e.p = null.twoSided(min(notAbove, n-below))
	return e
}

// distribution has cumulative probabilities of a symmetric statistic, to its centre at least.
type distribution []float64

func (d distribution) twoSided(k int) float64 {
	if k < 0 {
		return 0
	}
	return min(1, 2*d[min(k, len(d)-1)])
}

// critical returns the largest value with at most alpha on both sides, or -1.
func (d distribution) critical(alpha float64) int {
	k, _ := slices.BinarySearchFunc(d, alpha/2, func(p, want float64) int {
		if p <= want*(1+1e-12) {
			return -1
		}
		return 1
	})
	return k - 1
}

var nulls sync.Map // of nullKey: distribution

type nullKey struct {
	base, head int
	paired     bool
}

func null(base, head int, paired bool) distribution {
	key := nullKey{base, head, paired}
	if d, ok := nulls.Load(key); ok {
		return d.(distribution)
	}
	var d distribution
	if paired {
		d = signedRanks(base)
	} else {
		d = rankSums(base, head)
	}
	nulls.Store(key, d)
	return d
}

// Beyond these numbers of runs, normal distributions differ by less than a thousandth.
const (
	exactSigned = 200
	exactSum    = 50 // in each of two sets
)

func signedRanks(n int) distribution {
	sums := n * (n + 1) / 2
	if n > exactSigned {
		return normal(sums, math.Sqrt(float64(n)*float64(n+1)*float64(2*n+1)/24))
	}
	p := make([]float64, sums+1)
	p[0] = 1
	top := 0
	for rank := 1; rank <= n; rank++ {
		top += rank
		for s := top; s >= 0; s-- {
			p[s] /= 2
			if s >= rank {
				p[s] += p[s-rank] / 2
			}
		}
	}
	return cumulate(p)
}

// rankSums follows Mann and Whitney's recursion for sets of m and n values. The greatest of all
// values is in the first set with the probability m/(m+n), and then exceeds all n of the second.
func rankSums(m, n int) distribution {
	if m > exactSum || n > exactSum {
		return normal(m*n, math.Sqrt(float64(m)*float64(n)*float64(m+n+1)/12))
	}
	above := make([][]float64, n+1) // for i-1 values in the first set, by those in the second
	for j := range above {
		above[j] = []float64{1}
	}
	for i := 1; i <= m; i++ {
		row := make([][]float64, n+1)
		row[0] = []float64{1}
		for j := 1; j <= n; j++ {
			p := make([]float64, i*j+1)
			first := float64(i) / float64(i+j)
			for s := range p {
				if s >= j && s-j < len(above[j]) {
					p[s] += first * above[j][s-j]
				}
				if s < len(row[j-1]) {
					p[s] += (1 - first) * row[j-1][s]
				}
			}
			row[j] = p
		}
		above = row
	}
	return cumulate(above[n])
}

func cumulate(p []float64) distribution {
	for i := 1; i < len(p); i++ {
		p[i] += p[i-1]
	}
	return p
}

func normal(most int, deviation float64) distribution {
	d := make(distribution, most/2+1)
	for k := range d {
		z := (float64(k) + .5 - float64(most)/2) / deviation
		d[k] = math.Erfc(-z/math.Sqrt2) / 2
	}
	return d
}

// MaxRounds limits [Options].Rounds.
const MaxRounds = 200

// Wilcoxon's statistic depends only on the signs of the differences and on their ranks. Without a
// difference each sign is a coin's, and each new size has any rank with the same probability. So
// the joint distribution after all rounds does not depend on the noise (R. G. Miller, A sequential
// signed-rank test, JASA 65, 1970). perLook finds the level at which any look errs with the
// probability alpha (S. J. Pocock, Group sequential methods, Biometrika 64, 1977).

// With so many, the level is right within 3% of itself at alpha 0.05, within 6% at 0.01.
const draws = 100_000

func perLook(alpha float64, rounds int) float64 {
	return smallest(rounds)[int(alpha*draws)] / (1 + 1e-9)
}

var smallests sync.Map

// The first call takes tenths of a second.
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
	var positive []byte // by rank; 1: the difference is positive
	for i := range all {
		least := 1.0
		positive = positive[:0]
		w := 0
		for n := 1; n <= rounds; n++ {
			rank, sign := rng.IntN(n), byte(rng.IntN(2))
			w += bytes.Count(positive[rank:], []byte{1}) // each greater positive one moves up by a rank
			w += int(sign) * (rank + 1)
			positive = slices.Insert(positive, rank, sign)
			least = min(least, of[n].twoSided(min(w, n*(n+1)/2-w)))
		}
		all[i] = least
	}
	slices.Sort(all)
	smallests.Store(rounds, all)
	return all
}
