package verdict

import (
	"cmp"
	"math"
	"slices"
	"time"

	"evenkeel.dev/reqtrace"
)

// neighbours is how many of the following blocks correlate with a block.
const neighbours = 2

func (t *changeTable) difference(g *group) Difference {
	more, reach := g.more(), g.reach(t.level)
	ns := func(x float64) time.Duration { return time.Duration(math.Round(x)) }
	return Difference{
		Old: ns(g.raw[0]), New: ns(g.raw[1]), More: ns(more), Low: ns(more - reach), High: ns(more + reach),
	}
}

func (g *group) more() float64 { return average(g.values[1]) - average(g.values[0]) }

// reach returns half the width of an interval: the wider one of traces and of blocks. One trace a
// side has that of blocks, made wider.
func (g *group) reach(level float64) float64 {
	var within, between, per float64
	blocks, traces := 0, 0
	for s, values := range g.values {
		n, mean := float64(len(values)), average(values)
		per += 1 / n
		traces += len(values) - 1
		for i, v := range values {
			between += (v - mean) * (v - mean)
			within += variance(g.blocks[s][i]) / n / n
			blocks += max(busy(g.blocks[s][i])-1, 0)
		}
	}
	reach := studentQuantile(level, max(blocks, 1)) * math.Sqrt(within)
	if min(len(g.values[0]), len(g.values[1])) == 1 {
		reach *= aloneTimes
	} else {
		reach = max(reach, studentQuantile(level, traces)*math.Sqrt(between/float64(traces)*per))
	}
	return reach
}

func busy(u []float64) (n int) {
	for _, x := range u {
		if x != 0 {
			n++
		}
	}
	return n
}

// variance is that of a sum of blocks' influences, whose mean is 0.
func variance(u []float64) float64 {
	n := float64(len(u))
	if n < 2 {
		return 0
	}
	alone, sum := 0., 0.
	for i, x := range u {
		alone += x * x
		for l := 1; l <= neighbours && i+l < len(u); l++ {
			sum += 2 * (1 - float64(l)/(neighbours+1)) * x * u[i+l]
		}
	}
	return max(alone, alone+sum) * n / (n - 1)
}

// studentQuantile returns the t below which |t| is with that probability, for n degrees of freedom.
func studentQuantile(level float64, n int) float64 {
	lo, hi := 0., math.Pi/2 // of the angle whose tangent is t/√n
	for range 60 {
		if mid := (lo + hi) / 2; studentWithin(mid, n) < level {
			lo = mid
		} else {
			hi = mid
		}
	}
	return math.Sqrt(float64(n)) * math.Tan(lo)
}

// studentWithin returns the probability that |t| is less than √n tan(angle): Abramowitz, Stegun:
// Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
func studentWithin(angle float64, n int) float64 {
	sin, cos := math.Sincos(angle)
	if n%2 == 0 {
		term, sum := 1., 1.
		for i := 1; i < n/2; i++ {
			term *= cos * cos * float64(2*i-1) / float64(2*i)
			sum += term
		}
		return sin * sum
	}
	sum := 0.
	for term, i := cos, 1; i <= (n-1)/2; i++ {
		sum += term
		term *= cos * cos * float64(2*i) / float64(2*i+1)
	}
	return 2 / math.Pi * (angle + sin*sum)
}

func total(xs []float64) (sum float64) {
	for _, x := range xs {
		sum += x
	}
	return sum
}

func average(xs []float64) float64 { return total(xs) / float64(len(xs)) }

func axpy(y []float64, a float64, x []float64) {
	for i := range y {
		y[i] += a * x[i]
	}
}

const slowest = .01

// slowness says how much a request counts in the difference between two means of the slowest 1%.
//
// Let S(x) be the share of a side's requests that take longer than x. The mean of the slowest 1% is
// the area under S cut off at 1%, over 1%. So the difference is an area between two curves:
//
//	1% ┼────────╮· · · · ╭ new, cut off           φ   0 │ part of it │ 1
//	   │        │░░░░░░░░╰──╮
//	   │    old ╰──╮░░░░░░░░╰────╮
//	   │           ╰────────╮░░░░╰─────╮
//	   └────────┴───────────┴──────────────> x
//	          p99 old    p99 new
//
// Right of both 99th percentiles all of S'(x) - S(x) counts (φ = 1), left of both none, and between
// them the part below 1%. A request of length X counts ∫φ from 0 to X. If each side's slowest 1%
// stood alone, a new cause would push others out, and these would seem to take less.
type slowness struct {
	times []time.Duration // at which the curves fall, in order
	upTo  []float64       // ns that a request of that time counts
	tails [2]float64      // ns: means of the slowest 1%
}

func newSlowness(sides [2][]*reqtrace.Report) *slowness {
	var all []slowRequest
	for s, reports := range sides {
		all = append(all, slowRequests(reports, s)...)
	}
	slices.SortStableFunc(all, bySlowness)
	x := &slowness{}
	var above [2]float64 // S, of the step that ends at a time
	var steps []float64  // ∫φ over it
	for i, q := range all {
		above[q.side] += q.weight
		if i+1 < len(all) && all[i+1].Duration() == q.Duration() {
			continue
		}
		below := time.Duration(0)
		if i+1 < len(all) {
			below = all[i+1].Duration()
		}
		width := float64(q.Duration() - below)
		cut := [2]float64{min(above[0], slowest), min(above[1], slowest)}
		phi := 0.
		switch d := above[1] - above[0]; {
		case d != 0:
			phi = (cut[1] - cut[0]) / d
		case cut[0] == above[0]:
			phi = 1
		}
		for s := range cut {
			x.tails[s] += cut[s] / slowest * width
		}
		x.times, steps = append(x.times, q.Duration()), append(steps, phi*width)
	}
	slices.Reverse(x.times)
	slices.Reverse(steps)
	sum := 0.
	for _, d := range steps {
		sum += d
		x.upTo = append(x.upTo, sum)
	}
	return x
}

func (x *slowness) of(d time.Duration) float64 {
	i, _ := slices.BinarySearch(x.times, d)
	return x.upTo[min(i, len(x.upTo)-1)]
}

type slowRequest struct {
	*reqtrace.Request
	side   int
	weight float64
}

func slowRequests(reports []*reqtrace.Report, side int) (all []slowRequest) {
	for _, r := range reports {
		for _, b := range r.Blocks {
			for k := range b.Slow {
				weight := float64(b.Weight) / float64(r.Requests) / float64(len(reports))
				all = append(all, slowRequest{&b.Slow[k], side, weight})
			}
		}
	}
	return all
}

func bySlowness(p, q slowRequest) int { return cmp.Compare(q.Duration(), p.Duration()) }

func slowestParts(reports []*reqtrace.Report) reqtrace.Parts {
	all, left, parts := slowRequests(reports, 0), slowest, map[reqtrace.Cause]float64{}
	slices.SortStableFunc(all, bySlowness)
	for _, q := range all {
		weight := min(q.weight, left)
		left -= weight
		for _, p := range q.Sites {
			parts[Joined(p.Cause)] += float64(p.Time) * weight / slowest
		}
	}
	var mean reqtrace.Parts
	for c, ns := range parts {
		mean.Add(c, time.Duration(math.Round(ns)))
	}
	return mean
}
