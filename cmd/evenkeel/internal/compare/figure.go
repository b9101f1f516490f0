package compare

import (
	"math"
	"slices"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/tailstat"
)

// Figure is a row of the table. Runs may lack it.
type Figure struct {
	Name   string
	Note   string
	Format func(float64) string
	Of     func(*runfile.Run) (float64, bool)
}

var Figures = []Figure{
	{"requests", "answered in the window", textfmt.Count, func(r *runfile.Run) (float64, bool) {
		return float64(r.Load.Answered), true
	}},
	{"failed", "not answered: see the failures by class", textfmt.Count, func(r *runfile.Run) (float64, bool) {
		return float64(r.Load.Failed), r.Load.Failed > 0
	}},
	{"not 2xx or 3xx", "answered with another status", textfmt.Count, func(r *runfile.Run) (float64, bool) {
		n := NotOK(r.Load.Statuses)
		return float64(n), n > 0
	}},
	{
		"requests/s", "answered, over the duration, in which at constant gaps the last request's gap counts too",
		textfmt.Count, func(r *runfile.Run) (float64, bool) {
			return r.Load.Throughput(), r.Load.Duration > 0
		},
	},
	{"duration", "from the first measured request to the last answer", seconds, func(r *runfile.Run) (float64, bool) {
		return r.Load.Duration.Seconds(), true
	}},
	{
		"time in GC", "CPU time of the collector without its idle workers, of window x GOMAXPROCS", textfmt.Percent,
		gcPercent,
	},
	{"collections", "that ended in the window", textfmt.Count, collections},
	{"total GC time", "time in GC x duration, as the study counts it", seconds, func(r *runfile.Run) (float64, bool) {
		p, ok := gcPercent(r)
		return p / 100 * r.Load.Duration.Seconds(), ok
	}},
	{
		"GC wall clock", "sum of the collections' phases by the clock, most of it while the program runs", seconds,
		gcWall(func(s *gctrace.Summary) gctrace.Value[time.Duration] { return s.Wall.Total }),
	},
	{
		"GC pause, total", "stop-the-world phases of all collections", seconds,
		gcWall(func(s *gctrace.Summary) gctrace.Value[time.Duration] { return s.Wall.Pause }),
	},
	{"average pace", "duration / collections", seconds, func(r *runfile.Run) (float64, bool) {
		n, ok := collections(r)
		return r.Load.Duration.Seconds() / n, ok && n > 0
	}},
	{"requests/collection", "requests / collections", textfmt.Count, func(r *runfile.Run) (float64, bool) {
		n, ok := collections(r)
		return float64(r.Load.Answered) / n, ok && n > 0
	}},
	{
		"allocated/request", "bytes allocated in the window / requests", textfmt.Bytes,
		func(r *runfile.Run) (float64, bool) {
			if r.Alloc == nil || r.Load.Answered == 0 {
				return 0, false
			}
			return float64(r.Alloc.Bytes) / float64(r.Load.Answered), true
		},
	},
	{"peak heap", "largest heap at the end of a mark", textfmt.Bytes, gc(func(s *gctrace.Summary) (float64, bool) {
		v, ok := s.Heap.After.Max.Get()
		return float64(v), ok
	})},
	{
		"CPU/request", "processor time of the service's processes in the window / requests", seconds,
		func(r *runfile.Run) (float64, bool) {
			if r.Disturbance == nil || r.Load.Answered <= 0 {
				return 0, false
			}
			cpu, ok := r.Disturbance.ServiceCPU.Get()
			return cpu.Seconds() / float64(r.Load.Answered), ok && cpu > 0
		},
	},
	{
		"peak memory", "largest resident set of its processes, from their start to the end of the load", textfmt.Bytes,
		func(r *runfile.Run) (float64, bool) {
			if r.Server == nil {
				return 0, false
			}
			return float64(r.Server.PeakRSSBytes), r.Server.PeakRSSBytes > 0
		},
	},
	quantile("p50", .5), quantile("p90", .9), quantile("p99", .99), quantile("p99.9", .999), slowest(.01),
	slowest(.001),
	{"max", "longest latency", seconds, func(r *runfile.Run) (float64, bool) {
		return r.Load.Latency.Max().Seconds(), r.Load.Latency.Count() > 0
	}},
	{
		"p99 from sending", "open loop: the same without the wait before sending", seconds,
		func(r *runfile.Run) (float64, bool) {
			return r.Load.Service.Quantile(.99).Seconds(), r.Load.Service.Count() > 0
		},
	},
	{
		"sent > 1 ms late", "open loop: requests that were not sent within 1 ms of when they were due, by the load " +
			"generator's or the service's doing; their latency counts from then all the same", textfmt.Count,
		func(r *runfile.Run) (float64, bool) {
			return float64(r.Load.Late), r.Load.Rate > 0 && r.Import == ""
		},
	},
}

func seconds(s float64) string { return textfmt.Duration(time.Duration(s * 1e9)) }

func quantile(name string, q float64) Figure {
	return Figure{
		name, "latency that this share of requests does not exceed", seconds,
		func(r *runfile.Run) (float64, bool) {
			return r.Load.Latency.Quantile(q).Seconds(), r.Load.Latency.Count() > 0
		},
	}
}

func slowest(share float64) Figure {
	f := tailstat.Slowest(share)
	return Figure{
		f.Name, "mean latency of the slowest requests, by this share", seconds,
		func(r *runfile.Run) (float64, bool) {
			x, err := f.Of(&tailstat.Run{Latency: &r.Load.Latency})
			return x, err == nil
		},
	}
}

func (f *Figure) More() bool {
	return slices.Contains([]string{"requests", "requests/s", "average pace", "requests/collection"}, f.Name)
}

func NotOK(statuses map[int]int64) (n int64) {
	for s, c := range statuses {
		if s < 200 || s >= 400 {
			n += c
		}
	}
	return n
}

var (
	collections = gc(func(s *gctrace.Summary) (float64, bool) { return float64(s.Collections), true })
	gcPercent   = gc(func(s *gctrace.Summary) (float64, bool) { return s.CPUPercent.Get() })
)

func gcWall(of func(*gctrace.Summary) gctrace.Value[time.Duration]) func(*runfile.Run) (float64, bool) {
	return gc(func(s *gctrace.Summary) (float64, bool) {
		d, ok := of(s).Get()
		return d.Seconds(), ok
	})
}

func gc(of func(*gctrace.Summary) (float64, bool)) func(*runfile.Run) (float64, bool) {
	return func(r *runfile.Run) (float64, bool) {
		if r.GC == nil {
			return 0, false
		}
		return of(&r.GC.Summary)
	}
}

type Cell struct {
	Known  bool    `json:"-"`      // in at least one repeat
	Median float64 `json:"median"` // seconds, bytes, percent or a number
	Min    float64 `json:"least"`
	Max    float64 `json:"most"`
}

func newCell(f Figure, runs []*runfile.Run) Cell {
	var xs []float64
	for _, r := range runs {
		if x, ok := f.Of(r); ok && !math.IsNaN(x) && !math.IsInf(x, 0) {
			xs = append(xs, x)
		}
	}
	if len(xs) == 0 {
		return Cell{}
	}
	slices.Sort(xs)
	n := len(xs)
	return Cell{Known: true, Median: (xs[(n-1)/2] + xs[n/2]) / 2, Min: xs[0], Max: xs[n-1]}
}
