package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// line is a least-squares fit of y = intercept + slope*x, with what its 95% confidence takes.
type line struct {
	intercept, slope float64
	r2               float64
	slopeError       float64 // half of the slope's 95% confidence interval
	n                int
	meanX, sxx       float64
	deviation        float64 // of the residuals
	t                float64 // Student's, two-sided 95% at n-2
}

// fit needs three points at least, not all at one x.
func fit(xs, ys []float64) (line, error) {
	n := len(xs)
	if n < 3 || len(ys) != n || slices.Min(xs) == slices.Max(xs) {
		return line{}, fmt.Errorf("a line with its confidence needs three points of different x, there are %d", n)
	}
	l := line{n: n, meanX: stat.Mean(xs, nil)}
	l.intercept, l.slope = stat.LinearRegression(xs, ys, nil, false)
	l.r2 = stat.RSquared(xs, ys, nil, l.intercept, l.slope)
	var residuals float64
	for i, x := range xs {
		l.sxx += (x - l.meanX) * (x - l.meanX)
		r := ys[i] - l.at(x)
		residuals += r * r
	}
	l.deviation = math.Sqrt(residuals / float64(n-2))
	l.t = distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 2)}.Quantile(.975)
	l.slopeError = l.t * l.deviation / math.Sqrt(l.sxx)
	return l, nil
}

func (l line) at(x float64) float64 { return l.intercept + l.slope*x }

// band is half of the 95% confidence interval of the mean at x.
func (l line) band(x float64) float64 {
	return l.t * l.deviation * math.Sqrt(1/float64(l.n)+(x-l.meanX)*(x-l.meanX)/l.sxx)
}

// completions returns every run of the regression: connections, and completion time in ms.
func completions(r *recorded, server string) (xs, ys []float64) {
	for _, p := range measured(r, "regression") {
		for _, y := range r.all(server, p, wall) {
			xs, ys = append(xs, float64(p.conns)), append(ys, y)
		}
	}
	return xs, ys
}

func regressionTable(r *recorded, out io.Writer) {
	if len(measured(r, "regression")) == 0 {
		return
	}
	fmt.Fprintln(out, "\ncompletion time against number of connections: 1024 B once on each")
	for _, s := range allServers {
		xs, ys := completions(r, s.name)
		if len(xs) == 0 {
			continue
		}
		l, err := fit(xs, ys)
		if err != nil {
			fmt.Fprintf(out, "%14s  %v\n", s.name, err)
			continue
		}
		fmt.Fprintf(out, "%14s  %.2f ± %.2f ms for 1,000 connections (95%%), from %.1f ms; R² %.3f, %d runs\n",
			s.name, l.slope*1000, l.slopeError*1000, l.intercept, l.r2, l.n)
	}
}
