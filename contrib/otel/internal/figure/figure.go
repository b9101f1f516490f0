// Package figure makes metrics from a table of figures.
package figure

import (
	"context"
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Figure is a metric as a function of statistics.
type Figure[S any] struct {
	name, unit, help string
	kind             Kind
	points           func(s *S, put PutFunc)
}

// PutFunc takes a point. It leaves out one that is Unknown.
type PutFunc func(value float64, attributes ...attribute.KeyValue)

type Kind int

const (
	Counter Kind = iota
	UpDown       // adds up over replicas, as bytes do
	Gauge
)

// Unknown is a value that is not known. It has no point.
var Unknown = math.NaN()

func One[S any](name, unit, help string, k Kind, value func(*S) float64) Figure[S] {
	return Many(name, unit, help, k, func(s *S, put PutFunc) { put(value(s)) })
}

func Many[S any](name, unit, help string, k Kind, points func(s *S, put PutFunc)) Figure[S] {
	return Figure[S]{name, unit, help, k, points}
}

func (f *Figure[S]) instrument(m metric.Meter) (metric.Float64Observable, error) {
	unit, help := metric.WithUnit(f.unit), metric.WithDescription(f.help)
	switch f.kind {
	case Counter:
		return m.Float64ObservableCounter(f.name, unit, help)
	case UpDown:
		return m.Float64ObservableUpDownCounter(f.name, unit, help)
	}
	return m.Float64ObservableGauge(f.name, unit, help)
}

// Register has each collection of metrics read the statistics once.
func Register[S any](m metric.Meter, figures []Figure[S], stats func() S) (metric.Registration, error) {
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

func Names[S any](figures []Figure[S]) (names []string) {
	for i := range figures {
		names = append(names, figures[i].name)
	}
	return names
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

// Flag returns 1 for true.
func Flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
