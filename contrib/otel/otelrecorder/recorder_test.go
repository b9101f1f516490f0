package otelrecorder

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	api "go.opentelemetry.io/otel/trace"

	"evenkeel.dev/contrib/otel/internal/figure"
	"evenkeel.dev/contrib/otel/internal/oteltest"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/metricsuite"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/recorder"
)

// newRecorder returns a Recorder that exports to an SDK.
func newRecorder(t *testing.T) (*Recorder, *oteltest.SDK) {
	t.Helper()
	sdk := oteltest.New()
	r, err := New(Options{MeterProvider: sdk.Metrics, TracerProvider: sdk.Traces})
	if err != nil {
		t.Fatal(err)
	}
	return r, sdk
}

func TestDocHasAllNames(t *testing.T) {
	metricsuite.Documented(t, append(figure.Names(figures),
		"evenkeel.recorder.requests.explained", "evenkeel.recorder.lost", "evenkeel.recorder.causes.new"))
}

// TestAllFiguresCount leaves out Since: OpenTelemetry's points have a start time of their own.
func TestAllFiguresCount(t *testing.T) {
	var stats recorder.Stats
	sdk := oteltest.New()
	if _, err := figure.Register(sdk.Metrics.Meter(scope), figures,
		func() recorder.Stats { return stats }); err != nil {
		t.Fatal(err)
	}
	metricsuite.EachField(t, &stats, func() metricsuite.Samples { return sdk.Samples(t) }, ".Since")
}

func TestRequests(t *testing.T) {
	r, sdk := newRecorder(t)
	r.classes.max = 2
	metricsuite.Requests(t, metricsuite.Exporter{
		Add: r.add,
		New: func() float64 { return sdk.Samples(t)["evenkeel.recorder.causes.new{}"] },
		Slow: func(class string) (requests, lost float64) {
			attributes := fmt.Sprintf("{evenkeel.cause=lock,evenkeel.class=%s}", class)
			samples := sdk.Samples(t)
			return samples["evenkeel.recorder.requests.explained"+attributes],
				samples["evenkeel.recorder.lost"+attributes]
		},
	})
}

func explained(class, traceID string, at time.Time) recorder.Explained {
	return recorder.Explained{
		New: true, Cause: reqtrace.CauseLock, Class: class, Function: "main.get", Holder: "main.refresh",
		Start: at.Add(-100 * time.Millisecond), Duration: 100 * time.Millisecond, Lost: 80 * time.Millisecond,
		Place: "main.get (main.go:33)", HolderPlace: "main.refresh (main.go:43)", Words: "waiting \xff",
		Snapshot: "snap1", TraceID: traceID,
	}
}

// TestSpan tests that a slow request gets a child of its span, over the same time, with its cause,
// and metrics with its trace as exemplar.
func TestSpan(t *testing.T) {
	r, sdk := newRecorder(t)
	ctx, span := sdk.Traces.Tracer("test").Start(t.Context(), "GET /a")
	id := r.TraceID(ctx)
	span.End()
	if id != span.SpanContext().TraceID().String() {
		t.Errorf("the trace id is %q", id)
	}
	e := explained("GET /a", id, time.Now())
	r.add(e)

	ended := sdk.Spans.Ended()
	if len(ended) != 2 {
		t.Fatalf("%d spans", len(ended))
	}
	child := ended[1]
	parent, traceID := span.SpanContext().SpanID(), span.SpanContext().TraceID()
	if child.Name() != "slow request" || child.Parent().SpanID() != parent || child.SpanContext().TraceID() != traceID {
		t.Errorf("%v, a child of %v", child, child.Parent())
	}
	if !child.StartTime().Equal(e.Start) || child.EndTime().Sub(child.StartTime()) != e.Duration {
		t.Errorf("it is from %v to %v", child.StartTime(), child.EndTime())
	}
	set := attribute.NewSet(child.Attributes()...)
	want := attribute.NewSet(
		causeKey.String("lock"), classKey.String("GET /a"), wordsKey.String("waiting \uFFFD"), lostKey.Float64(0.08),
		functionKey.String("main.get"),
		placeKey.String("main.get (main.go:33)"), holderKey.String("main.refresh"),
		holderPlaceKey.String("main.refresh (main.go:43)"),
		snapshotKey.String("snap1"), newKey.Bool(true),
	)
	if !set.Equals(&want) {
		t.Errorf("attributes %v", set.Encoded(attribute.DefaultEncoder()))
	}
	points := sdk.Points(t)
	p := points["evenkeel.recorder.lost{evenkeel.cause=lock,evenkeel.class=GET /a}"]
	if p.Value != 0.08 || string(p.Exemplar) != string(traceID[:]) {
		t.Errorf("lost: %+v", p)
	}
	if n := points["evenkeel.recorder.causes.new{}"].Value; n != 1 {
		t.Errorf("%v new causes", n)
	}
}

// TestNoSpan tests that requests without a span, or with one that is not sampled, count and get
// none.
func TestNoSpan(t *testing.T) {
	r, sdk := newRecorder(t)
	if id := r.TraceID(t.Context()); id != "" {
		t.Errorf("without a span the id is %q", id)
	}
	unsampled := api.NewSpanContext(api.SpanContextConfig{TraceID: api.TraceID{1}, SpanID: api.SpanID{1}})
	id := r.TraceID(api.ContextWithSpanContext(context.Background(), unsampled))
	if id != unsampled.TraceID().String() {
		t.Errorf("the id is %q", id)
	}
	for _, id := range []string{"", id, "no id", unsampled.TraceID().String()} {
		r.add(explained("GET /a", id, time.Now()))
	}
	if n := len(sdk.Spans.Ended()); n != 0 {
		t.Errorf("%d spans", n)
	}
	const requests = "evenkeel.recorder.requests.explained{evenkeel.cause=lock,evenkeel.class=GET /a}"
	if n := sdk.Samples(t)[requests]; n != 4 {
		t.Errorf("%v requests", n)
	}
}

// TestSpansOfOneTrace tests that their ends tell two slow requests of one trace apart, and that the
// memory of spans is bounded.
func TestSpansOfOneTrace(t *testing.T) {
	s, start := new(spans), time.Now()
	span := func(traceID, id byte) api.SpanContext {
		return api.NewSpanContext(api.SpanContextConfig{TraceID: api.TraceID{1, traceID}, SpanID: api.SpanID{id}})
	}
	s.add(span(1, 1), start)
	s.add(span(1, 2), start.Add(time.Second))
	hex := span(1, 1).TraceID().String()
	for i, at := range []time.Duration{900 * time.Millisecond, 800 * time.Millisecond} {
		if got, ok := s.take(hex, start.Add(at)); !ok || got.SpanID() != (api.SpanID{byte(2 - i)}) {
			t.Errorf("at %v it is %v, %v", at, got.SpanID(), ok)
		}
	}
	if _, ok := s.take(hex, start); ok {
		t.Error("a span is taken twice")
	}
	for i := range 3 * maxSpans {
		s.add(span(byte(i%7), 1), start)
	}
	if n := len(s.kept); n != maxSpans {
		t.Errorf("%d spans are remembered", n)
	}
}

func TestMain(m *testing.M) { leaks.Main(m) }
