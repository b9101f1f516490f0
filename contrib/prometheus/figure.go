package prometheus

import (
	"math"
	"time"

	prom "github.com/prometheus/client_golang/prometheus"
)

// figure is a metric without labels, as a function of statistics of type S.
type figure[S any] struct {
	desc  *prom.Desc
	kind  prom.ValueType
	value func(*S) float64 // unknown: there is no sample
}

// unknown is the value of a figure that is not known.
var unknown = math.NaN()

func counter[S any](name, help string, value func(*S) float64) figure[S] {
	return figure[S]{describe(name, help), prom.CounterValue, value}
}

func gauge[S any](name, help string, value func(*S) float64) figure[S] {
	return figure[S]{describe(name, help), prom.GaugeValue, value}
}

func describe(name, help string, labels ...string) *prom.Desc {
	return prom.NewDesc(name, help, labels, nil)
}

// collect sends the figures of s that are known.
func collect[S any](figures []figure[S], s *S, to chan<- prom.Metric) {
	for _, f := range figures {
		if v := f.value(s); !math.IsNaN(v) {
			to <- prom.MustNewConstMetric(f.desc, f.kind, v)
		}
	}
}

func describeAll[S any](figures []figure[S], to chan<- *prom.Desc) {
	for _, f := range figures {
		to <- f.desc
	}
}

// positive is v, which is not known where it is 0.
func positive[T ~int | ~int64 | ~float64](v T) float64 {
	if v <= 0 {
		return unknown
	}
	return float64(v)
}

// seconds is d in seconds, which is not known where it is 0.
func seconds(d time.Duration) float64 {
	if d <= 0 {
		return unknown
	}
	return d.Seconds()
}

// timestamp is t in seconds since 1970, which is not known where it is zero.
func timestamp(t time.Time) float64 {
	if t.IsZero() {
		return unknown
	}
	return float64(t.UnixMilli()) / 1000
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
