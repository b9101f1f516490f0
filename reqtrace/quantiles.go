package reqtrace

import "time"

// Quantiles of the requests' times, and the mean of those from the 99th percentile up.
type Quantiles struct {
	P50  time.Duration `json:"p50_ns"`
	P90  time.Duration `json:"p90_ns"`
	P99  time.Duration `json:"p99_ns"`
	P999 time.Duration `json:"p999_ns"`
	Tail time.Duration `json:"p99+_mean_ns"`
}

// ranked takes the quantiles of times that come in order.
type ranked struct {
	at   [4]int // ranks of the quantiles
	seen int
	q    [4]int64
	sum  float64 // from the 99th percentile up
}

// newRanked returns one for n times.
func newRanked(n int) (r ranked) {
	for i, p := range [...]float64{.5, .9, .99, .999} {
		r.at[i] = min(int(p*float64(n)), n-1)
	}
	return r
}

func (r *ranked) add(ns int64) {
	if r.seen >= r.at[0] {
		for i, at := range r.at {
			if at == r.seen {
				r.q[i] = ns
			}
		}
		if r.seen >= r.at[2] {
			r.sum += float64(ns)
		}
	}
	r.seen++
}

// quantiles returns those of all that was added.
func (r *ranked) quantiles() Quantiles {
	if r.seen == 0 {
		return Quantiles{}
	}
	mean := r.sum / float64(r.seen-r.at[2])
	return Quantiles{dur(r.q[0]), dur(r.q[1]), dur(r.q[2]), dur(r.q[3]), dur(int64(mean))}
}
