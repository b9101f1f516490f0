package verdict

import (
	"math"
	"time"
)

// neighbours is how many of the following blocks correlate with a block.
const neighbours = 2

func (t *changeTable) difference(g *group) (slow, all Difference) {
	return t.interval(&g.stats[statSlow]), t.interval(&g.stats[statAll])
}

func (t *changeTable) interval(e *estimate) Difference {
	more, reach := e.more(), e.reach(t.level)
	ns := func(x float64) time.Duration { return time.Duration(math.Round(x)) }
	return Difference{
		Old: ns(e.raw[0]), New: ns(e.raw[1]), More: ns(more), Low: ns(more - reach),
		High: ns(more + reach),
	}
}

func (e *estimate) more() float64 { return average(e.values[1]) - average(e.values[0]) }

// reach returns half the width of an interval. It is the wider of the one over traces and the one
// over blocks. With one trace a side it is the latter, and made wider.
func (e *estimate) reach(level float64) float64 {
	var within, between, per float64
	blocks, traces := 0, 0
	for s, values := range e.values {
		n, mean := float64(len(values)), average(values)
		per += 1 / n
		traces += len(values) - 1
		for i, v := range values {
			between += (v - mean) * (v - mean)
			within += variance(e.blocks[s][i]) / n / n
			blocks += max(busy(e.blocks[s][i])-1, 0)
		}
	}
	reach := studentQuantile(level, max(blocks, 1)) * math.Sqrt(within)
	if min(len(e.values[0]), len(e.values[1])) == 1 {
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

// variance returns that of a sum of blocks' influences, whose mean is 0.
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

// studentQuantile returns the t below which |t| is with that probability, for n degrees of
// freedom.
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

// studentWithin returns the probability that |t| with n degrees of freedom is less than √n
// tan(angle): Abramowitz, Stegun: Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
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
