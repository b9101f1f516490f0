package tailstat

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"time"
)

// Latency is the histogram of one run's latencies, such as *loadgen.Histogram.
type Latency interface {
	// Count returns the number of requests.
	Count() int64
	// Quantile returns the latency that a share q of the requests does not exceed.
	Quantile(q float64) time.Duration
	// All returns latencies in increasing order with their counts.
	All() iter.Seq2[time.Duration, int64]
}

// Run is one run of a service under load.
type Run struct {
	// Round numbers the runs that ran together, in random order. Default 0: no round.
	Round int

	Latency Latency            // nil: none
	Values  map[string]float64 // see Figures and Value
}

// Figure is a positive number of each run.
type Figure struct {
	Name string
	// More says that more is better, as for requests/s.
	More bool
	// Of returns the figure of a run, or why the run lacks it.
	Of func(*Run) (float64, error)
}

// Figures returns p50, p90, p99, p99.9, the mean of the slowest 1% and 0.1%, and the Values
// requests/s, CPU/request and peak memory.
func Figures() []Figure {
	return []Figure{
		Quantile(.5), Quantile(.9), Quantile(.99), Quantile(.999), Slowest(.01), Slowest(.001),
		Value("requests/s", true), Value("CPU/request", false), Value("peak memory", false),
	}
}

// Value returns the figure of that name in Values. more is its More.
func Value(name string, more bool) Figure {
	return Figure{name, more, func(r *Run) (float64, error) {
		x, ok := r.Values[name]
		if !ok {
			return 0, errors.New("not measured")
		}
		return x, nil
	}}
}

const leastBeyond = 10 // requests at least as slow as a quantile

// Quantile returns the latency in seconds that a share q of the requests does not exceed, as p99.9
// for q = 0.999.
func Quantile(q float64) Figure {
	name := fmt.Sprintf("p%.6g", 100*q)
	return Figure{Name: name, Of: func(r *Run) (float64, error) {
		if err := enough(r, 1-q, name); err != nil {
			return 0, err
		}
		return r.Latency.Quantile(q).Seconds(), nil
	}}
}

// Slowest returns the mean latency, in seconds, of the slowest share of the requests.
func Slowest(share float64) Figure {
	name := fmt.Sprintf("slowest %.6g%%", 100*share)
	return Figure{Name: name, Of: func(r *Run) (float64, error) {
		if err := enough(r, share, name); err != nil {
			return 0, err
		}
		return slowestMean(r.Latency, share), nil
	}}
}

func enough(r *Run, beyond float64, name string) error {
	if r.Latency == nil {
		return errors.New("no latencies")
	}
	if !(beyond > 0 && beyond < 1) {
		return fmt.Errorf("%s is not a percentile: its share lies between 0 and 1", name)
	}
	if n, least := r.Latency.Count(), int64(math.Round(leastBeyond/beyond)); n < least {
		return fmt.Errorf("%d requests; %s needs %d", n, name, least)
	}
	return nil
}

func slowestMean(l Latency, share float64) float64 {
	slow := share * float64(l.Count()) // may start inside a bucket
	skip := float64(l.Count()) - slow
	sum := 0.0
	for d, n := range l.All() {
		part := float64(n)
		if skip > 0 {
			passed := min(skip, part)
			skip, part = skip-passed, part-passed
		}
		sum += part * d.Seconds()
	}
	return sum / slow
}
