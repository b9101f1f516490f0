package tailstat

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCritical holds the tests' two-sided critical values at 0.05 against the tables that textbooks print.
func TestCritical(t *testing.T) {
	for n, want := range map[int]int{
		5: -1, 6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 11: 10, 12: 13, 13: 17, 14: 21, 15: 25,
		20: 52, 25: 89,
	} {
		if got := signedRanks(n).critical(.05); got != want {
			t.Errorf("signed ranks of %d: %d, want %d", n, got, want)
		}
	}
	for n, want := range map[int]int{3: -1, 4: 0, 5: 2, 6: 5, 7: 8, 8: 13, 9: 17, 10: 23, 15: 64, 20: 127} {
		if got := rankSums(n, n).critical(.05); got != want {
			t.Errorf("rank sums of %d and %d: %d, want %d", n, n, got, want)
		}
	}
	if got := rankSums(5, 9).critical(.05); got != 7 {
		t.Errorf("rank sums of 5 and 9: %d, want 7", got)
	}
}

// TestDistributions holds the distributions against all cases, one by one, and the normal ones against the exact.
func TestDistributions(t *testing.T) {
	for n := 1; n <= 12; n++ {
		count := make([]int, n*(n+1)/2+1)
		for signs := range 1 << n {
			w := 0
			for i := range n {
				w += (signs >> i & 1) * (i + 1)
			}
			count[w]++
		}
		same(t, signedRanks(n), count)
	}
	for m := 1; m <= 5; m++ {
		for n := 1; n <= 6; n++ {
			count := make([]int, m*n+1)
			for set := range 1 << (m + n) { // which places the first set has
				first, u := 0, 0
				for i, seen := 0, 0; i < m+n; i++ {
					if set>>i&1 == 1 {
						first++
						u += seen
					} else {
						seen++
					}
				}
				if first == m {
					count[u]++
				}
			}
			same(t, rankSums(m, n), count)
		}
	}
	close := func(name string, a, b distribution) {
		for k := range b {
			if math.Abs(a[k]-b[k]) > .001 {
				t.Fatalf("%s: the normal distribution is %v at %d, the exact %v", name, b[k], k, a[k])
			}
		}
	}
	n := float64(exactSigned)
	close("signed ranks", signedRanks(exactSigned),
		normal(exactSigned*(exactSigned+1)/2, math.Sqrt(n*(n+1)*(2*n+1)/24)))
	n = exactSum
	close("rank sums", rankSums(exactSum, exactSum), normal(exactSum*exactSum, math.Sqrt(n*n*(2*n+1)/12)))
}

func same(t *testing.T, d distribution, count []int) {
	t.Helper()
	all := 0
	for _, c := range count {
		all += c
	}
	sum := 0
	for k, c := range count {
		sum += c
		if want := float64(sum) / float64(all); math.Abs(d[k]-want) > 1e-12 {
			t.Fatalf("of %d values, up to %d: %v, want %v", len(count), k, d[k], want)
		}
	}
}

// TestEstimates holds estimates of small sets against ones worked out by hand.
func TestEstimates(t *testing.T) {
	e := signedRank([]float64{1, 2, 3, 4, 5, 6}, .95)
	if want := (estimate{3.5, 1, 6, 2. / 64}); e != want {
		t.Errorf("%+v, want %+v", e, want)
	}
	e = signedRank([]float64{-1, 2, 3, 4, 5, 6, 7}, .95) // averages: -1 .5 1 1.5 2 2 ...
	if e.value != 4 || e.low != 1 || e.high != 6 || e.p != 4./128 {
		t.Errorf("%+v", e)
	}
	e = signedRank([]float64{3, 3, 3}, .95)
	if e.value != 3 || !math.IsInf(e.low, -1) || !math.IsInf(e.high, 1) || e.p != .25 {
		t.Errorf("%+v", e)
	}
	e = signedRank(make([]float64, 20), .95)
	if want := (estimate{0, 0, 0, 1}); e != want {
		t.Errorf("zeros: %+v, want %+v", e, want)
	}
	e = rankSum([]float64{1, 2, 3, 4}, []float64{11, 12, 13, 14}, .95)
	if e.value != 10 || e.low != 7 || e.high != 13 || math.Abs(e.p-2./70) > 1e-12 {
		t.Errorf("%+v", e)
	}
	for _, bad := range [][]float64{nil, {math.NaN()}, {1, math.Inf(1)}} {
		if _, _, err := SignedRank(bad, .95); err == nil {
			t.Errorf("no error for %v", bad)
		}
	}
	for _, level := range []float64{0, 1, -1, math.NaN()} {
		if _, _, err := SignedRank([]float64{1}, level); err == nil {
			t.Errorf("no error for the level %v", level)
		}
	}
}

// TestLevels counts how often intervals of noise with heavy tails miss the truth: as often as they may, whatever the
// number of runs.
func TestLevels(t *testing.T) {
	const trials = 4000
	rng := rand.New(rand.NewPCG(3, 5))
	cauchy := func() float64 { return math.Tan(math.Pi * (rng.Float64() - .5)) }
	for _, n := range []int{6, 10, 20} {
		missed, missedSums := 0, 0
		for range trials {
			x, y := make([]float64, n), make([]float64, n)
			for i := range x {
				x[i], y[i] = cauchy(), 7+cauchy()
			}
			if e := signedRank(y, .95); e.low > 7 || e.high < 7 {
				missed++
			}
			if e := rankSum(x, y, .95); e.low > 7 || e.high < 7 {
				missedSums++
			}
		}
		exact := func(d distribution) float64 { return d.twoSided(d.critical(.05)) }
		for _, c := range []struct {
			name   string
			missed int
			want   float64
		}{{"signed ranks", missed, exact(signedRanks(n))}, {"rank sums", missedSums, exact(rankSums(n, n))}} {
			got := float64(c.missed) / trials
			if c.want > .05 || math.Abs(got-c.want) > 4*math.Sqrt(.05*.95/trials) {
				t.Errorf("%s, %d runs: %.4f of intervals miss, want %.4f", c.name, n, got, c.want)
			}
		}
	}
}

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
				e := signedRank(d, level)
				missed = missed || e.low > .3 || e.high < .3
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
