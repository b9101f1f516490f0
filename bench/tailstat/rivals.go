package main

import (
	"math"
	"math/rand/v2"
	"sort"
	"time"

	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

// rival is what people do instead: it says for each figure that it looks at whether two sets of runs differ, at the level of 5%
// where it has one.
type rival struct {
	name  string
	finds func(rng *rand.Rand, b, h []tailstat.Run) map[string]bool
}

// mean is the figure of rivals that look at no quantile.
const mean = "all requests"

var rivals = []rival{
	{"one run each, 10% apart", apart},
	{"t-test on single runs", single},
	{"t-test over runs", welch},
	{"bootstrap over requests", bootstrap},
	{"Mann-Whitney over requests", mannWhitney},
}

// apart takes a run of each, of the same round, and believes what it sees, if it is more than a tenth: what a reader of two
// reports of a load generator does.
func apart(rng *rand.Rand, b, h []tailstat.Run) map[string]bool {
	found := map[string]bool{}
	i := rng.IntN(len(b))
	for _, f := range tailstat.Figures() {
		x, errX := f.Of(&b[i])
		y, errY := f.Of(&h[i])
		if errX == nil && errY == nil {
			found[f.Name] = math.Abs(math.Log(y/x)) > math.Log(1.1)
		}
	}
	return found
}

// single is Welch's t-test (B. L. Welch, Biometrika 34, 1947) on the requests of a run of each: what comes of
// giving the latencies that a load generator wrote to a statistics library.
func single(rng *rand.Rand, b, h []tailstat.Run) map[string]bool {
	of := func(r tailstat.Run) (n, mean, variance float64) {
		sum, squares := 0.0, 0.0
		for d, c := range r.Latency.All() {
			k, x := float64(c), d.Seconds()
			n, sum, squares = n+k, sum+k*x, squares+k*x*x
		}
		mean = sum / n
		return n, mean, (squares - n*mean*mean) / (n - 1)
	}
	i := rng.IntN(len(b))
	n, mx, vx := of(b[i])
	m, my, vy := of(h[i])
	return map[string]bool{mean: differ(mx, vx, n, my, vy, m)}
}

// welch is the same test of the runs' figures, not of their logarithms, as most take it. Its unit is right.
func welch(_ *rand.Rand, b, h []tailstat.Run) map[string]bool {
	found := map[string]bool{}
	for _, f := range tailstat.Figures() {
		x, okX := values(f, b)
		y, okY := values(f, h)
		if okX && okY {
			mx, vx := moments(x)
			my, vy := moments(y)
			found[f.Name] = differ(mx, vx, float64(len(x)), my, vy, float64(len(y)))
		}
	}
	return found
}

// differ reports what Welch's test says of two means with their variances and numbers of values.
func differ(mx, vx, n, my, vy, m float64) bool {
	ex, ey := vx/n, vy/m
	if ex+ey <= 0 {
		return mx != my
	}
	t := math.Abs(mx-my) / math.Sqrt(ex+ey)
	freedom := (ex + ey) * (ex + ey) / (ex*ex/(n-1) + ey*ey/(m-1))
	return 2*studentBeyond(t, freedom) < .05
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

// pool is the requests of runs as if they were one list: latencies in increasing order, and how many are not above each.
type pool struct {
	at    []time.Duration
	below []float64
}

func pooled(rs []tailstat.Run) (p pool) {
	all := new(loadgen.Histogram)
	for _, r := range rs {
		all.Merge(r.Latency.(*loadgen.Histogram))
	}
	n := 0.0
	for d, c := range all.All() {
		n += float64(c)
		p.at, p.below = append(p.at, d), append(p.below, n)
	}
	return p
}

func (p pool) count() float64 { return p.below[len(p.below)-1] }

func (p pool) quantile(q float64) time.Duration {
	return p.at[min(sort.SearchFloat64s(p.below, q*p.count()), len(p.at)-1)]
}

// bootstrap takes the requests of all runs for independent: it draws as many of each set again and again, and finds a
// difference where 95% of the differences lie on one side of 0 (B. Efron, Annals of Statistics 7, 1979). A quantile of n
// draws is that of the requests at a rank which is binomial, so only that rank is drawn, by the normal distribution.
func bootstrap(rng *rand.Rand, b, h []tailstat.Run) map[string]bool {
	const draws = 1000
	x, y := pooled(b), pooled(h)
	drawn := func(p pool, q float64) time.Duration {
		return p.quantile(min(max(q+math.Sqrt(q*(1-q)/p.count())*rng.NormFloat64(), 0), 1))
	}
	found := map[string]bool{}
	for name, q := range map[string]float64{"p50": .5, "p90": .9, "p99": .99, "p99.9": .999} {
		above, below := 0, 0
		for range draws {
			switch u, v := drawn(x, q), drawn(y, q); {
			case v > u:
				above++
			case v < u:
				below++
			}
		}
		found[name] = max(above, below) >= draws*975/1000
	}
	return found
}

// mannWhitney takes the requests of all runs for independent, and finds a difference by their ranks (the normal distribution, as
// there are thousands; H. B. Mann and D. R. Whitney, Annals of Mathematical Statistics 18, 1947).
func mannWhitney(_ *rand.Rand, b, h []tailstat.Run) map[string]bool {
	x, y := pooled(b), pooled(h)
	u, ties := 0.0, 0.0
	belowX, belowY := 0.0, 0.0
	for i, j := 0, 0; i < len(x.at) || j < len(y.at); { // one latency after another
		at := time.Duration(math.MaxInt64)
		if i < len(x.at) {
			at = x.at[i]
		}
		if j < len(y.at) {
			at = min(at, y.at[j])
		}
		nx, ny := 0.0, 0.0
		if i < len(x.at) && x.at[i] == at {
			nx, belowX, i = x.below[i]-belowX, x.below[i], i+1
		}
		if j < len(y.at) && y.at[j] == at {
			ny, belowY, j = y.below[j]-belowY, y.below[j], j+1
		}
		u += ny * (belowX - nx/2) // pairs in which y is the greater, ties half
		t := nx + ny
		ties += t*t*t - t
	}
	n, m := x.count(), y.count()
	all := n + m
	variance := n * m / 12 * (all + 1 - ties/(all*(all-1)))
	return map[string]bool{mean: math.Abs(u-n*m/2)/math.Sqrt(variance) > 1.96}
}
