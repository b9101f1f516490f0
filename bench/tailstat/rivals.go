package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

// rivals are what people do instead. Each says whether it finds a difference between two sets of runs in a figure,
// at the level of 5%.
var rivals = []struct {
	name  string
	finds func(rng *rand.Rand, f tailstat.Figure, b, h []tailstat.Run) (found, ok bool)
}{
	{"t-test over runs", welch},
	{"bootstrap over requests", bootstrap},
	{"Mann-Whitney over requests", mannWhitney},
}

// welch is Welch's t-test of the runs' figures (B. L. Welch, Biometrika 34, 1947), not of their logarithms, as most take it.
func welch(_ *rand.Rand, f tailstat.Figure, b, h []tailstat.Run) (found, ok bool) {
	x, okX := values(f, b)
	y, okY := values(f, h)
	if !okX || !okY {
		return false, false
	}
	mx, vx := moments(x)
	my, vy := moments(y)
	ex, ey := vx/float64(len(x)), vy/float64(len(y))
	if ex+ey == 0 {
		return mx != my, true
	}
	t := math.Abs(mx-my) / math.Sqrt(ex+ey)
	freedom := (ex + ey) * (ex + ey) / (ex*ex/float64(len(x)-1) + ey*ey/float64(len(y)-1))
	return 2*studentBeyond(t, freedom) < .05, true
}

func values(f tailstat.Figure, rs []tailstat.Run) (xs []float64, ok bool) {
	for i := range rs {
		x, err := f.Of(&rs[i])
		if err != nil {
			return nil, false
		}
		xs = append(xs, x)
	}
	return xs, true
}

func moments(xs []float64) (mean, variance float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		variance += (x - mean) * (x - mean) / float64(len(xs)-1)
	}
	return mean, variance
}

// studentBeyond returns the probability that Student's t with so many degrees of freedom exceeds x > 0: the integral of
// its density, by Simpson's rule over the angle atan(t/sqrt(freedom)), in which the density is a power of the cosine.
func studentBeyond(x, freedom float64) float64 {
	const steps = 2000
	from := math.Atan(x / math.Sqrt(freedom))
	integral := func(a, b float64) float64 {
		h := (b - a) / steps
		sum := 0.0
		for i := range steps + 1 {
			w := 2.0
			switch {
			case i == 0 || i == steps:
				w = 1
			case i%2 == 1:
				w = 4
			}
			sum += w * math.Pow(max(0, math.Cos(a+float64(i)*h)), freedom-1)
		}
		return sum * h / 3
	}
	return integral(from, math.Pi/2) / integral(-math.Pi/2, math.Pi/2)
}

// requests returns all latencies of runs, in order of time not: a histogram of all.
func requests(rs []tailstat.Run) *loadgen.Histogram {
	all := new(loadgen.Histogram)
	for _, r := range rs {
		all.Merge(r.Latency.(*loadgen.Histogram))
	}
	return all
}

// bootstrap takes the requests of all runs for independent: it draws as many of each set again and again, and finds a
// difference where 95% of the ratios lie on one side of 1 (B. Efron, Annals of Statistics 7, 1979). A quantile of n
// draws is that of the requests at a rank which is binomial, so only that rank is drawn.
func bootstrap(rng *rand.Rand, f tailstat.Figure, b, h []tailstat.Run) (found, ok bool) {
	const draws = 1000
	q, is := quantiles[f.Name]
	if !is {
		return false, false
	}
	x, y := requests(b), requests(h)
	above := 0
	for range draws {
		if resampled(rng, y, q) > resampled(rng, x, q) {
			above++
		}
	}
	return above <= draws*25/1000 || above >= draws*975/1000, true
}

var quantiles = map[string]float64{"p50": .5, "p90": .9, "p99": .99, "p99.9": .999}

// resampled returns a quantile of as many draws from a histogram as it has requests: the share of it below that
// quantile is that of the draws give or take the binomial's deviation, here by the normal distribution.
func resampled(rng *rand.Rand, h *loadgen.Histogram, q float64) float64 {
	share := q + math.Sqrt(q*(1-q)/float64(h.Count()))*rng.NormFloat64()
	return h.Quantile(min(max(share, 0), 1)).Seconds()
}

// mannWhitney takes the requests of all runs for independent, and finds a difference by their ranks (the normal distribution, as
// there are thousands; H. B. Mann and D. R. Whitney, Annals of Mathematical Statistics 18, 1947). It is of no one figure.
func mannWhitney(_ *rand.Rand, f tailstat.Figure, b, h []tailstat.Run) (found, ok bool) {
	if f.Name != "p50" {
		return false, false
	}
	x, y := requests(b), requests(h)
	n, m := float64(x.Count()), float64(y.Count())
	type bucket struct{ x, y float64 }
	buckets := map[int64]bucket{}
	for d, c := range x.All() {
		k := buckets[int64(d)]
		k.x += float64(c)
		buckets[int64(d)] = k
	}
	for d, c := range y.All() {
		k := buckets[int64(d)]
		k.y += float64(c)
		buckets[int64(d)] = k
	}
	var order []int64
	for d := range buckets {
		order = append(order, d)
	}
	slices.Sort(order)
	u, below, ties := 0.0, 0.0, 0.0
	for _, d := range order {
		k := buckets[d]
		u += k.y * (below + k.x/2) // pairs in which y is the greater, ties half
		below += k.x
		t := k.x + k.y
		ties += t*t*t - t
	}
	all := n + m
	variance := n * m / 12 * (all + 1 - ties/(all*(all-1)))
	return math.Abs(u-n*m/2)/math.Sqrt(variance) > 1.96, true
}
