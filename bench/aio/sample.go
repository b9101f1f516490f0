package main

import (
	"math"

	"evenkeel.dev/bench/aio/wire"
	"evenkeel.dev/bench/figure"
)

// recorded is the raw data of a run.
type recorded struct {
	Default  string   `json:"default"` // the server that is aio with the backend that it chooses itself
	Rounds   int      `json:"rounds"`
	LengthMS int64    `json:"length_ms"`
	Quick    bool     `json:"quick,omitempty"`
	Read     string   `json:"aio_reads"` // small messages into: swap, own
	Failures []string `json:"failures,omitempty"`
	Samples  []sample `json:"samples"`
}

// sample is one run.
type sample struct {
	Server   string `json:"server"`
	Workload string `json:"workload"`
	Size     int    `json:"size"`
	Conns    int    `json:"conns"`
	Round    int    `json:"round"`
	wire.Result
	Idle    *idle         `json:"idle,omitempty"`
	Sleeper *wire.Latency `json:"sleeper,omitempty"`
}

// idle is what each idle connection keeps resident in the server, in bytes.
type idle struct {
	Resident  float64 `json:"resident"`  // with the pages of files, which the rings of io_uring are too
	Anonymous float64 `json:"anonymous"` // the process's own memory
}

// What is read off a sample. NaN: it was not measured.
func rate(s sample) float64      { return float64(s.Messages) / s.Seconds }
func megabytes(s sample) float64 { return float64(s.Messages) * float64(s.Size) / s.Seconds / 1e6 }
func wall(s sample) float64      { return s.Seconds * 1e3 } // ms
func cpu(s sample) float64       { return s.CPU / 1e3 }     // µs
func p50(s sample) float64       { return s.Latency.P50 }
func p99(s sample) float64       { return s.Latency.P99 }
func p999(s sample) float64      { return s.Latency.P999 }
func slowest(s sample) float64   { return s.Latency.Max }
func stalls(s sample) float64    { return float64(s.Stalls) }

// value returns what the load of a row, or its server, found by name.
func value(name string) func(sample) float64 {
	return func(s sample) float64 {
		if v, ok := s.Values[name]; ok {
			return v
		}
		return math.NaN()
	}
}

func perMessage(name string) func(sample) float64 {
	return func(s sample) float64 { return value(name)(s) / float64(s.Messages) }
}

func milli(of func(sample) float64) func(sample) float64 {
	return func(s sample) float64 { return of(s) / 1e3 }
}

func syscalls(s sample) float64 {
	if s.Syscalls == 0 {
		return math.NaN()
	}
	return s.Syscalls
}

func anonymous(s sample) float64 {
	if s.Idle == nil {
		return math.NaN()
	}
	return s.Idle.Anonymous
}

func lateMean(s sample) float64 {
	if s.Sleeper == nil {
		return math.NaN()
	}
	return s.Sleeper.Mean
}

func lateP99(s sample) float64 {
	if s.Sleeper == nil {
		return math.NaN()
	}
	return s.Sleeper.P99
}

// rounds returns what a server reached at a point, by round.
func (r *recorded) rounds(server string, p point, of func(sample) float64) map[int]float64 {
	xs := map[int]float64{}
	for _, s := range r.Samples {
		if s.Server == server && s.Workload == p.workload && s.Size == p.size && s.Conns == p.conns {
			if x := of(s); !math.IsNaN(x) {
				xs[s.Round] = x
			}
		}
	}
	return xs
}

// all returns what a server reached at a point, in the order of rounds.
func (r *recorded) all(server string, p point, of func(sample) float64) (xs []float64) {
	by := r.rounds(server, p, of)
	for i := range r.Rounds {
		if x, ok := by[i]; ok {
			xs = append(xs, x)
		}
	}
	return xs
}

// median returns the median over the rounds, NaN of none.
func (r *recorded) median(server string, p point, of func(sample) float64) float64 {
	xs := r.all(server, p, of)
	if len(xs) == 0 {
		return math.NaN()
	}
	return figure.Median(xs)
}

// ratios returns a's value over b's for each round, as the geometric mean over points. Rounds in
// which one is missing are left out.
func (r *recorded) ratios(a, b string, of func(sample) float64, ps ...point) (xs []float64) {
	logs, seen := make([]float64, r.Rounds), make([]int, r.Rounds)
	for _, p := range ps {
		as, bs := r.rounds(a, p, of), r.rounds(b, p, of)
		for i, x := range as {
			if y, ok := bs[i]; ok && x > 0 && y > 0 {
				logs[i] += math.Log(x / y)
				seen[i]++
			}
		}
	}
	for i, n := range seen {
		if n == len(ps) && n > 0 {
			xs = append(xs, math.Exp(logs[i]/float64(n)))
		}
	}
	return xs
}
