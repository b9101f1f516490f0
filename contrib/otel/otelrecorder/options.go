package otelrecorder

import (
	global "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"evenkeel.dev"
)

// Options configure [New]. The zero value works.
type Options struct {
	// MeterProvider gets the metrics. Default: nil, the global one.
	MeterProvider metric.MeterProvider

	// TracerProvider gets the spans of slow requests. They end in the recorder's goroutine, so its
	// processor must not wait: use a batching one. Default: nil, the global one.
	TracerProvider trace.TracerProvider

	// MaxClasses is how many classes of slow requests the metrics tell apart. Later ones share the
	// class "(others)". Default: 0, which is 32. Limit: 1,024.
	MaxClasses int
}

const (
	defaultMaxClasses = 32
	limitMaxClasses   = 1024
)

const scope = "evenkeel.dev/contrib/otel/otelrecorder"

func (o Options) withDefaults() (Options, error) {
	if o.MeterProvider == nil {
		o.MeterProvider = global.GetMeterProvider()
	}
	if o.TracerProvider == nil {
		o.TracerProvider = global.GetTracerProvider()
	}
	if o.MaxClasses == 0 {
		o.MaxClasses = defaultMaxClasses
	}
	if o.MaxClasses < 1 || o.MaxClasses > limitMaxClasses {
		reason := "%d is out of range: use 1 to %d, or 0 for %d"
		return o, evenkeel.NewOptionError("otelrecorder.Options", "MaxClasses", reason, o.MaxClasses, limitMaxClasses,
			defaultMaxClasses)
	}
	return o, nil
}
