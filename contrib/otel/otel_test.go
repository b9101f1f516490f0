package otel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	api "go.opentelemetry.io/otel/trace"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/history"
	"evenkeel.dev/reqtrace/recorder"
)

// sdk is the SDK with what it has exported.
type sdk struct {
	reader *metric.ManualReader
	spans  *tracetest.SpanRecorder
	tracer api.Tracer
	o      Options
}

func newSDK() *sdk {
	s := &sdk{reader: metric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	traces := trace.NewTracerProvider(trace.WithSpanProcessor(s.spans), trace.WithSampler(trace.ParentBased(trace.AlwaysSample())))
	s.tracer = traces.Tracer("test")
	s.o = Options{MeterProvider: metric.NewMeterProvider(metric.WithReader(s.reader)), TracerProvider: traces}
	return s
}

// point is a point of a metric, with its attributes.
type point struct {
	value    float64
	exemplar []byte // trace id
}

// points returns those of all metrics, by name and attributes.
func (s *sdk) points(t *testing.T) map[string]point {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	list := map[string]point{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Unit == "" || m.Description == "" {
				t.Errorf("%s has no unit or no description", m.Name)
			}
			var data []metricdata.DataPoint[float64]
			switch d := m.Data.(type) {
			case metricdata.Sum[float64]:
				data = d.DataPoints
			case metricdata.Gauge[float64]:
				data = d.DataPoints
			default:
				t.Fatalf("%s is a %T", m.Name, m.Data)
			}
			for _, p := range data {
				var of point
				of.value = p.Value
				if len(p.Exemplars) > 0 {
					of.exemplar = p.Exemplars[0].TraceID
				}
				list[m.Name+"{"+p.Attributes.Encoded(attribute.DefaultEncoder())+"}"] = of
			}
		}
	}
	return list
}

// values are those of points.
func values(points map[string]point) map[string]float64 {
	list := map[string]float64{}
	for name, p := range points {
		list[name] = p.value
	}
	return list
}

// TestDocHasAllNames: doc.go lists what there is, and nothing else.
func TestDocHasAllNames(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^//\t(evenkeel\.(?:gate|recorder)\.[a-z_.]+)`).FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, m[1])
	}
	is := []string{"evenkeel.recorder.requests.explained", "evenkeel.recorder.lost", "evenkeel.recorder.causes.new"}
	for _, f := range gateFigures {
		is = append(is, f.name)
	}
	for _, f := range recorderFigures {
		is = append(is, f.name)
	}
	slices.Sort(listed)
	slices.Sort(is)
	if !slices.Equal(listed, is) {
		t.Errorf("doc.go lists\n%s\nand there are\n%s", strings.Join(listed, "\n"), strings.Join(is, "\n"))
	}
}

// fill sets each leaf below v to something that it is not, one after the other, and calls f in between.
func fill(v reflect.Value, path string, f func(path string)) {
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	defer v.Set(old)
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1e9, 0)))
			f(path)
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), path+"."+v.Type().Field(i).Name, f)
		}
	case reflect.Map:
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		if key.Kind() == reflect.String {
			key.SetString("a reason")
		} else {
			key.SetUint(1)
		}
		fill(elem, path+"[]", func(path string) {
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(key, elem)
			f(path)
		})
	case reflect.String:
		v.SetString("words")
		f(path)
	case reflect.Bool:
		v.SetBool(true)
		f(path)
	case reflect.Float64:
		v.SetFloat(7)
		f(path)
	case reflect.Int, reflect.Int64:
		v.SetInt(7e6)
		f(path)
	default:
		v.SetUint(7)
		f(path)
	}
}

// TestAllFiguresCount: each field of the statistics changes what is exported, the ones included that a later change adds.
func TestAllFiguresCount(t *testing.T) {
	leftOut := []string{".Why", ".LastFailure", ".Since", ".Turn.HeldUpBy"} // words; and OpenTelemetry's points say themselves since when
	gate := gcgate.Stats{Turn: gcgate.TurnStats{Turns: 1}}
	rec := recorder.Stats{}
	g, r := newSDK(), newSDK()
	if _, err := registerGate(func() gcgate.Stats { return gate }, g.o); err != nil {
		t.Fatal(err)
	}
	if _, err := register(r.o.MeterProvider.Meter(scope), recorderFigures, func() recorder.Stats { return rec }); err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		stats reflect.Value
		sdk   *sdk
	}{{reflect.ValueOf(&gate).Elem(), g}, {reflect.ValueOf(&rec).Elem(), r}} {
		before, seen := values(of.sdk.points(t)), 0
		fill(of.stats, "", func(path string) {
			seen++
			if !slices.Contains(leftOut, path) && maps.Equal(values(of.sdk.points(t)), before) {
				t.Errorf("%v%s is not exported", of.stats.Type(), path)
			}
		})
		if seen < 15 {
			t.Errorf("%v has %d fields", of.stats.Type(), seen)
		}
	}
}

// TestGateValues: attributes, units, and what is not known.
func TestGateValues(t *testing.T) {
	s := gcgate.Stats{
		Policy: gcgate.PolicyDrain, State: gcgate.StateDraining, Overlapped: 3, OverlappedOther: 4,
		Phases: map[gcgate.State]gcgate.Duration{gcgate.StateDraining: {Count: 2, Total: 30 * time.Millisecond, Max: 20 * time.Millisecond}},
		Limit:  math.MaxInt64,
	}
	to := newSDK()
	registration, err := registerGate(func() gcgate.Stats { return s }, to.o)
	if err != nil {
		t.Fatal(err)
	}
	points := to.points(t)
	for name, want := range map[string]float64{
		"evenkeel.gate.policy{evenkeel.gate.policy=drain}":                  1,
		"evenkeel.gate.state{evenkeel.gate.state=draining}":                 1,
		"evenkeel.gate.state{evenkeel.gate.state=serving}":                  0,
		"evenkeel.gate.requests.overlapped{evenkeel.gate.collection=gate}":  3,
		"evenkeel.gate.requests.overlapped{evenkeel.gate.collection=other}": 4,
		"evenkeel.gate.phase.count{evenkeel.gate.state=draining}":           2,
		"evenkeel.gate.phase.time{evenkeel.gate.state=draining}":            0.03,
		"evenkeel.gate.phase.max{evenkeel.gate.state=draining}":             0.02,
		"evenkeel.gate.collections{evenkeel.gate.reason=idle gap}":          0,
	} {
		if is, ok := points[name]; !ok || is.value != want {
			t.Errorf("%s is %v, %v, want %v", name, is.value, ok, want)
		}
	}
	for _, name := range []string{"evenkeel.gate.memory.limit{}", "evenkeel.gate.collection.next{}", "evenkeel.gate.turn.spare{}"} {
		if _, ok := points[name]; ok {
			t.Errorf("%s has a point, but is not known", name)
		}
	}
	if err := registration.Unregister(); err != nil {
		t.Fatal(err)
	}
	if n := len(to.points(t)); n != 0 {
		t.Errorf("%d points after Unregister", n)
	}
}

// TestNoGate: where a gate could not start there are no points, and options are held to what they may be.
func TestNoGate(t *testing.T) {
	to := newSDK()
	registration, err := RegisterGate(nil, to.o)
	if err != nil {
		t.Fatal(err)
	}
	if points := to.points(t); len(points) != 0 {
		t.Errorf("points %v", points)
	}
	if err := registration.Unregister(); err != nil {
		t.Error(err)
	}
	var bad *OptionError
	if _, err := RegisterGate(nil, Options{MaxClasses: -1}); !errors.As(err, &bad) {
		t.Error(err)
	}
}

func explained(class, traceID string, at time.Time) recorder.Explained {
	return recorder.Explained{New: true, Request: history.Request{
		Key:   history.Key{Cause: reqtrace.CauseLock, Class: class, Function: "main.get", Holder: "main.refresh"},
		Start: at.Add(-100 * time.Millisecond), Duration: 100 * time.Millisecond, Lost: 80 * time.Millisecond,
		Place: "main.get (main.go:33)", HolderPlace: "main.refresh (main.go:43)", Words: "waiting \xff", Snapshot: "snap1", TraceID: traceID,
	}}
}

// TestSpan: a slow request gets a child of its span, over its time, with what is known, and metrics with its trace as exemplar.
func TestSpan(t *testing.T) {
	s := newSDK()
	r, err := NewRecorder(s.o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, span := s.tracer.Start(t.Context(), "GET /a")
	id := r.TraceID(ctx)
	span.End()
	if id != span.SpanContext().TraceID().String() {
		t.Errorf("the trace id is %q", id)
	}
	e := explained("GET /a", id, time.Now())
	r.tell(e)

	ended := s.spans.Ended()
	if len(ended) != 2 {
		t.Fatalf("%d spans", len(ended))
	}
	child := ended[1]
	if child.Name() != "slow request" || child.Parent().SpanID() != span.SpanContext().SpanID() || child.SpanContext().TraceID() != span.SpanContext().TraceID() {
		t.Errorf("%v, a child of %v", child, child.Parent())
	}
	if !child.StartTime().Equal(e.Start) || child.EndTime().Sub(child.StartTime()) != e.Duration {
		t.Errorf("it is from %v to %v", child.StartTime(), child.EndTime())
	}
	set := attribute.NewSet(child.Attributes()...)
	want := attribute.NewSet(
		causeKey.String("lock"), classKey.String("GET /a"), wordsKey.String("waiting \uFFFD"), lostKey.Float64(0.08), functionKey.String("main.get"),
		placeKey.String("main.get (main.go:33)"), holderKey.String("main.refresh"), holderPlaceKey.String("main.refresh (main.go:43)"),
		snapshotKey.String("snap1"), newKey.Bool(true),
	)
	if !set.Equals(&want) {
		t.Errorf("attributes %v", set.Encoded(attribute.DefaultEncoder()))
	}
	points := s.points(t)
	p := points["evenkeel.recorder.lost{evenkeel.cause=lock,evenkeel.class=GET /a}"]
	traceID := span.SpanContext().TraceID()
	if p.value != 0.08 || string(p.exemplar) != string(traceID[:]) {
		t.Errorf("lost: %+v", p)
	}
	if n := points["evenkeel.recorder.causes.new{}"].value; n != 1 {
		t.Errorf("%v new causes", n)
	}
}

// TestNoSpan: requests without a span, or whose span is not sampled, count and have none.
func TestNoSpan(t *testing.T) {
	s := newSDK()
	r, err := NewRecorder(s.o)
	if err != nil {
		t.Fatal(err)
	}
	if id := r.TraceID(t.Context()); id != "" {
		t.Errorf("without a span the id is %q", id)
	}
	unsampled := api.NewSpanContext(api.SpanContextConfig{TraceID: api.TraceID{1}, SpanID: api.SpanID{1}})
	id := r.TraceID(api.ContextWithSpanContext(context.Background(), unsampled))
	if id != unsampled.TraceID().String() {
		t.Errorf("the id is %q", id)
	}
	for _, id := range []string{"", id, "no id", unsampled.TraceID().String()} {
		r.tell(explained("GET /a", id, time.Now()))
	}
	if n := len(s.spans.Ended()); n != 0 {
		t.Errorf("%d spans", n)
	}
	if n := s.points(t)["evenkeel.recorder.requests.explained{evenkeel.cause=lock,evenkeel.class=GET /a}"].value; n != 4 {
		t.Errorf("%v requests", n)
	}
}

// TestSpansOfOneTrace: two slow requests of one trace are told apart by when they ended, and what is remembered is bounded.
func TestSpansOfOneTrace(t *testing.T) {
	s, start := newSpans(), time.Now()
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
	total := 0
	for _, list := range s.of {
		total += len(list)
	}
	if total != maxSpans {
		t.Errorf("%d spans are remembered", total)
	}
}

// TestClassesAreBounded: the first classes have points of their own, the others share one.
func TestClassesAreBounded(t *testing.T) {
	s := newSDK()
	s.o.MaxClasses = 2
	r, err := NewRecorder(s.o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		r.tell(explained(fmt.Sprint("class ", i), "", time.Now()))
	}
	points := s.points(t)
	if n := points["evenkeel.recorder.requests.explained{evenkeel.cause=lock,evenkeel.class=(others)}"].value; n != 98 {
		t.Errorf("%v of other classes", n)
	}
	if n := points["evenkeel.recorder.requests.explained{evenkeel.cause=lock,evenkeel.class=class 1}"].value; n != 1 {
		t.Errorf("%v of class 1", n)
	}
}

func TestOptionsOutOfRange(t *testing.T) {
	var bad *OptionError
	if _, err := NewRecorder(Options{MaxClasses: -1}); !errors.As(err, &bad) || bad.Option != "MaxClasses" {
		t.Error(err)
	}
	if _, err := RegisterGate(&gcgate.Gate{}, Options{MaxClasses: limitMaxClasses + 1}); !errors.As(err, &bad) || bad.Option != "MaxClasses" {
		t.Error(err)
	}
}
