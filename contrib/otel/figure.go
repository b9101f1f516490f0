package otel

import (
	"context"
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// figure is a metric as a function of statistics of type S.
type figure[S any] struct {
	name, unit, help string
	kind             kind
	points           func(s *S, put putFunc)
}

// putFunc takes a point. One that is unknown is left out.
type putFunc func(value float64, attributes ...attribute.KeyValue)

type kind int

const (
	counter kind = iota
	upDown       // what adds up over replicas: bytes, requests in flight
	gauge
)

// unknown is the value of a figure that is not known.
var unknown = math.NaN()

// one is a figure of one point.
func one[S any](name, unit, help string, k kind, value func(*S) float64) figure[S] {
	return figure[S]{name, unit, help, k, func(s *S, put putFunc) { put(value(s)) }}
}

// instrument makes the observable that is a figure.
func (f *figure[S]) instrument(m metric.Meter) (metric.Float64Observable, error) {
	unit, help := metric.WithUnit(f.unit), metric.WithDescription(f.help)
	switch f.kind {
	case counter:
		return m.Float64ObservableCounter(f.name, unit, help)
	case upDown:
		return m.Float64ObservableUpDownCounter(f.name, unit, help)
	}
	return m.Float64ObservableGauge(f.name, unit, help)
}

// register has the figures read at each collection of metrics, all of them from one reading of the statistics.
func register[S any](m metric.Meter, figures []figure[S], stats func() S) (metric.Registration, error) {
	instruments := make([]metric.Float64Observable, len(figures))
	all := make([]metric.Observable, len(figures))
	for i := range figures {
		var err error
		if instruments[i], err = figures[i].instrument(m); err != nil {
			return nil, err
		}
		all[i] = instruments[i]
	}
	return m.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		s := stats()
		for i := range figures {
			figures[i].points(&s, func(value float64, attributes ...attribute.KeyValue) {
				if !math.IsNaN(value) {
					to.ObserveFloat64(instruments[i], value, metric.WithAttributes(attributes...))
				}
			})
		}
		return nil
	}, all...)
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

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
