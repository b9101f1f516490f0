// Package oteltest collects metrics and spans with OpenTelemetry's SDK in tests.
package oteltest

import (
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"evenkeel.dev/internal/metricsuite"
)

// SDK is the SDK and what it has exported.
type SDK struct {
	Metrics *metric.MeterProvider
	Traces  *trace.TracerProvider
	Spans   *tracetest.SpanRecorder

	reader *metric.ManualReader
}

func New() *SDK {
	s := &SDK{reader: metric.NewManualReader(), Spans: tracetest.NewSpanRecorder()}
	sampler := trace.ParentBased(trace.AlwaysSample())
	s.Traces = trace.NewTracerProvider(trace.WithSpanProcessor(s.Spans), trace.WithSampler(sampler))
	s.Metrics = metric.NewMeterProvider(metric.WithReader(s.reader))
	return s
}

type Point struct {
	Value    float64
	Exemplar []byte // trace id
}

// Points returns the points of all metrics, by name and attributes.
func (s *SDK) Points(t *testing.T) map[string]Point {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	list := map[string]Point{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Unit == "" || m.Description == "" {
				t.Errorf("%s has no unit or no description", m.Name)
			}
			for _, p := range pointsOf(t, m) {
				of := Point{Value: p.Value}
				if len(p.Exemplars) > 0 {
					of.Exemplar = p.Exemplars[0].TraceID
				}
				list[m.Name+"{"+p.Attributes.Encoded(attribute.DefaultEncoder())+"}"] = of
			}
		}
	}
	return list
}

func pointsOf(t *testing.T, m metricdata.Metrics) []metricdata.DataPoint[float64] {
	t.Helper()
	switch d := m.Data.(type) {
	case metricdata.Sum[float64]:
		return d.DataPoints
	case metricdata.Gauge[float64]:
		return d.DataPoints
	}
	t.Fatalf("%s is a %T", m.Name, m.Data)
	return nil
}

func (s *SDK) Samples(t *testing.T) metricsuite.Samples {
	t.Helper()
	list := metricsuite.Samples{}
	for name, p := range s.Points(t) {
		list[name] = p.Value
	}
	return list
}
