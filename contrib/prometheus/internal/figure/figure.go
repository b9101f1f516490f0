// Package figure makes metrics from a table of figures.
package figure

import (
	"math"
	"time"

	prom "github.com/prometheus/client_golang/prometheus"
)

// Figure is a metric without labels, as a function of statistics of type S.
type Figure[S any] struct {
	desc  *prom.Desc
	kind  prom.ValueType
	value func(*S) float64
}

// Unknown is a value that is not known. It has no sample.
var Unknown = math.NaN()

// Counter returns a figure that only rises.
func Counter[S any](name, help string, value func(*S) float64) Figure[S] {
	return Figure[S]{Describe(name, help), prom.CounterValue, value}
}

func Gauge[S any](name, help string, value func(*S) float64) Figure[S] {
	return Figure[S]{Describe(name, help), prom.GaugeValue, value}
}

func Describe(name, help string, labels ...string) *prom.Desc {
	return prom.NewDesc(name, help, labels, nil)
}

// Collector is a prometheus.Collector that reads the statistics once for each scrape.
type Collector[S any] struct {
	Stats   func() S // nil: no samples
	Figures []Figure[S]
	Others  []*prom.Desc                      // of metrics with labels, and of summaries
	Put     func(s *S, to chan<- prom.Metric) // sends Others
}

func (c *Collector[S]) Describe(to chan<- *prom.Desc) {
	for _, f := range c.Figures {
		to <- f.desc
	}
	for _, d := range c.Others {
		to <- d
	}
}

func (c *Collector[S]) Collect(to chan<- prom.Metric) {
	if c.Stats == nil {
		return
	}
	s := c.Stats()
	for _, f := range c.Figures {
		if v := f.value(&s); !math.IsNaN(v) {
			to <- prom.MustNewConstMetric(f.desc, f.kind, v)
		}
	}
	c.Put(&s, to)
}

// Positive returns v, or Unknown if it is 0.
func Positive[T ~int | ~int64 | ~float64](v T) float64 {
	if v <= 0 {
		return Unknown
	}
	return float64(v)
}

// Seconds returns d in seconds, or Unknown if it is 0.
func Seconds(d time.Duration) float64 { return Positive(d.Seconds()) }

// Timestamp returns t in seconds since 1970, or Unknown if it is zero.
func Timestamp(t time.Time) float64 {
	if t.IsZero() {
		return Unknown
	}
	return float64(t.UnixMilli()) / 1000
}

// Flag returns 1 for true.
func Flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
