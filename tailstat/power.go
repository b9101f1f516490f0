package tailstat

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

const power = .8 // the share of trials that must show a difference

const trials = 400 // an answer is right within some 4% of the runs

// MaxNeeded is the number of runs beyond which Needed gives up.
const MaxNeeded = 1000

// Trials draw from noise.
type noise struct {
	paired     bool
	alpha      float64
	base, head []float64 // paired: the differences between rounds, both ways, in base
	runs       [2]int    // of base and head
}

// The null hypothesis is that differences are symmetric, so pairedNoise takes them both ways.
func pairedNoise(d []float64, centre, level float64) noise {
	n := noise{paired: true, alpha: 1 - level}
	for _, x := range around(d, centre) {
		n.base = append(n.base, x, -x)
	}
	return n
}

// A centre that was estimated from the values lies too near to them, which k corrects.
func around(xs []float64, centre float64) (rs []float64) {
	k := math.Sqrt(float64(len(xs)) / float64(len(xs)-1))
	for _, x := range xs {
		rs = append(rs, k*(x-centre))
	}
	return rs
}

func looseNoise(x, y []float64, level float64) noise {
	return noise{alpha: 1 - level, base: around(x, median(x)), head: around(y, median(y))}
}

func (n *noise) shown(base, head int, shift float64) bool {
	critical := null(base, head, n.paired).critical(n.alpha)
	if critical < 0 {
		return false
	}
	rng := rand.New(rand.NewPCG(80, uint64(base))) // the same trials for each shift
	trial := n.looseTrial
	if n.paired {
		trial = n.pairedTrial
	}
	draw := trial(rng, base, head, shift)
	for found, missed := 0, 0; ; {
		if draw() <= critical {
			found++
		} else {
			missed++
		}
		if found >= power*trials {
			return true
		}
		if missed > (1-power)*trials {
			return false
		}
	}
}

// A statistic is small if the difference shows.
func (n *noise) pairedTrial(rng *rand.Rand, runs, _ int, shift float64) func() int {
	values := slices.Clone(n.base)
	for i := range values {
		values[i] += shift
	}
	place, order := places(values, func(i, j int) int { return cmp.Compare(math.Abs(values[i]), math.Abs(values[j])) })
	times := make([]int, len(values))
	return func() int {
		clear(times)
		for range runs {
			times[place[rng.IntN(len(place))]]++
		}
		w, rank := 0, 0
		for p, c := range times {
			if values[order[p]] <= 0 { // it has the c ranks after rank
				w += c*rank + c*(c+1)/2
			}
			rank += c
		}
		return w
	}
}

func (n *noise) looseTrial(rng *rand.Rand, base, head int, shift float64) func() int {
	place, order := places(n.base, func(i, j int) int { return cmp.Compare(n.base[i], n.base[j]) })
	sorted := make([]float64, len(n.base))
	for p, i := range order {
		sorted[p] = n.base[i]
	}
	at := make([]int, len(n.head))
	for i, v := range n.head {
		at[i] = sort.SearchFloat64s(sorted, shift+v)
	}
	notBelow := make([]int, len(n.base)+1) // how many of base have this place or a later one
	return func() int {
		clear(notBelow)
		for range base {
			notBelow[place[rng.IntN(len(place))]]++
		}
		for p := len(notBelow) - 2; p >= 0; p-- {
			notBelow[p] += notBelow[p+1]
		}
		w := 0
		for range head {
			w += notBelow[at[rng.IntN(len(at))]]
		}
		return w
	}
}

func places(values []float64, compare func(i, j int) int) (place, order []int) {
	for i := range values {
		order = append(order, i)
	}
	slices.SortFunc(order, compare)
	place = make([]int, len(values))
	for p, i := range order {
		place[i] = p
	}
	return place, order
}

// Detectable returns the smallest ratio above 1 that so many runs of each, or rounds, show in four
// of five trials if they are as noisy as these. Default 0: as many as these. ok is false if the
// ratio is over 1000, or the figure was not compared.
func (r *Result) Detectable(runs int) (ratio float64, ok bool) {
	n, base, head := &r.noise, runs, runs
	if runs == 0 {
		base, head = n.runs[0], n.runs[1]
	}
	if len(n.base) == 0 || base < 1 || head < 1 {
		return 0, false
	}
	low, high := 0.0, math.Log(1.001)
	for !n.shown(base, head, high) {
		if low = high; high > math.Log(1000) {
			return 0, false
		}
		high *= 2
	}
	for range 10 {
		if mid := (low + high) / 2; n.shown(base, head, mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return math.Exp(high), true
}

// Needed returns how many runs of each, or rounds, show a ratio in four of five trials if they are
// as noisy as these. ok is false beyond MaxNeeded, or if the figure was not compared.
func (r *Result) Needed(ratio float64) (runs int, ok bool) {
	shift := math.Abs(math.Log(ratio))
	if len(r.noise.base) == 0 || !(shift > 0) {
		return 0, false
	}
	low, high := 1, 2
	for !r.noise.shown(high, high, shift) {
		if high == MaxNeeded {
			return 0, false
		}
		low, high = high, min(2*high, MaxNeeded)
	}
	for low+1 < high {
		if mid := (low + high) / 2; r.noise.shown(mid, mid, shift) {
			high = mid
		} else {
			low = mid
		}
	}
	return high, true
}
