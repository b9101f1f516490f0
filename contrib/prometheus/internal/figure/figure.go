// Package figure makes metrics from a table of figures.
package figure

import (
	"reflect"
	"strings"
	"time"

	prom "github.com/prometheus/client_golang/prometheus"
)

// Figure is a metric without labels, of a field of statistics, such as "Turn.Held.Max". A duration
// is in seconds, a time in seconds since 1970, a text 1 unless it is empty, and a slice its length.
type Figure struct {
	desc     *prom.Desc
	kind     prom.ValueType
	field    string
	positive bool // 0 is not known
}

// Counter returns a figure that only rises.
func Counter(name, field, help string) Figure {
	return Figure{Describe(name, help), prom.CounterValue, field, false}
}

func Gauge(name, field, help string) Figure {
	return Figure{Describe(name, help), prom.GaugeValue, field, false}
}

// Positive returns a gauge of a field that is not known while it is 0. Then it has no sample.
func Positive(name, field, help string) Figure {
	return Figure{Describe(name, help), prom.GaugeValue, field, true}
}

func Describe(name, help string, labels ...string) *prom.Desc {
	return prom.NewDesc(name, help, labels, nil)
}

// Collector is a prometheus.Collector that reads the statistics once for each scrape.
type Collector[S any] struct {
	Stats   func() S // nil: no samples
	Figures []Figure
	Others  []*prom.Desc                      // of metrics with labels, and of summaries
	Put     func(s *S, to chan<- prom.Metric) // sends Others
}

// Describe implements prometheus.Collector. It panics if S lacks a field of Figures, so that a
// registration fails, and no scrape.
func (c *Collector[S]) Describe(to chan<- *prom.Desc) {
	var zero S
	for _, f := range c.Figures {
		_ = number(zero, f.field)
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
		if v := number(s, f.field); v > 0 || !f.positive {
			to <- prom.MustNewConstMetric(f.desc, f.kind, v)
		}
	}
	c.Put(&s, to)
}

// number panics if there is no such field.
func number(stats any, field string) float64 {
	v := reflect.ValueOf(stats)
	for name := range strings.SplitSeq(field, ".") {
		v = v.FieldByName(name)
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		return x.Seconds()
	case time.Time:
		return float64(x.UnixMilli()) / 1000
	case bool:
		return Flag(x)
	case string:
		return Flag(x != "")
	case []uint64:
		return float64(len(x))
	}
	return v.Convert(reflect.TypeFor[float64]()).Float()
}

// Flag returns 1 for true.
func Flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
