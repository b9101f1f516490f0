package otelrecorder

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	global "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"evenkeel.dev/contrib/otel/internal/figure"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/recorder"
)

const (
	causeKey       = attribute.Key("evenkeel.cause")
	classKey       = attribute.Key("evenkeel.class")
	wordsKey       = attribute.Key("evenkeel.words")
	lostKey        = attribute.Key("evenkeel.lost")
	functionKey    = attribute.Key("code.function.name") // of the semantic conventions
	placeKey       = attribute.Key("evenkeel.place")
	holderKey      = attribute.Key("evenkeel.holder")
	holderPlaceKey = attribute.Key("evenkeel.holder.place")
	snapshotKey    = attribute.Key("evenkeel.snapshot")
	newKey         = attribute.Key("evenkeel.new")
	partKey        = attribute.Key("evenkeel.recorder.part")
	errorKey       = attribute.Key("error.type") // of the semantic conventions
)

var figures = []figure.Figure[recorder.Stats]{
	figure.One("evenkeel.recorder.requests", "{request}", "Requests that the service's own clock saw.",
		figure.Counter, func(s *recorder.Stats) float64 { return float64(s.Requests) }),
	figure.One("evenkeel.recorder.requests.slow", "{request}", "Requests that took longer than the threshold.",
		figure.Counter, func(s *recorder.Stats) float64 { return float64(s.Slow) }),
	figure.One("evenkeel.recorder.requests.kept", "{request}",
		"Slow requests in snapshots that the service does not analyse.",
		figure.Counter, func(s *recorder.Stats) float64 { return float64(s.Kept) }),
	figure.One("evenkeel.recorder.recording", "1", "1 while it records.",
		figure.UpDown, func(s *recorder.Stats) float64 { return figure.Flag(s.On) }),
	figure.One("evenkeel.recorder.threshold", "s", "Time from which on a request is slow.",
		figure.Gauge, func(s *recorder.Stats) float64 { return figure.Seconds(s.Threshold) }),
	figure.One("evenkeel.recorder.window", "s", "Time that a snapshot goes back.",
		figure.Gauge, func(s *recorder.Stats) float64 { return figure.Seconds(s.Window) }),
	figure.One("evenkeel.recorder.window.size", "By", "Size of the flight recorder's window.",
		figure.UpDown, func(s *recorder.Stats) float64 { return figure.Positive(s.Bytes) }),
	figure.One("evenkeel.recorder.passed", "s", "Time since the recorder began.",
		figure.Counter, func(s *recorder.Stats) float64 { return s.Passed.Seconds() }),
	figure.One("evenkeel.recorder.off", "s", "Time for which it was off to stay within recorder.Options.CPU.",
		figure.Counter, func(s *recorder.Stats) float64 { return s.Off.Seconds() }),
	figure.One("evenkeel.recorder.covered", "s", "Time for which it recorded.",
		figure.Counter, func(s *recorder.Stats) float64 { return s.Covered.Seconds() }),
	figure.One("evenkeel.recorder.snapshots", "{snapshot}", "Snapshots that were taken.",
		figure.Counter, func(s *recorder.Stats) float64 { return float64(s.Snapshots) }),
	figure.One("evenkeel.recorder.snapshots.analyzed", "{snapshot}", "Snapshots that were analysed.",
		figure.Counter, func(s *recorder.Stats) float64 { return float64(s.Analyzed) }),
	figure.Many("evenkeel.recorder.snapshots.failed", "{snapshot}", "Snapshots that say nothing.",
		figure.Counter, func(s *recorder.Stats, put figure.PutFunc) {
			for reason, n := range s.Failures {
				put(float64(n), errorKey.String(reason))
			}
		}),
	figure.One("evenkeel.recorder.process.cpu", "s", "Processor time that the process took.",
		figure.Counter, func(s *recorder.Stats) float64 { return s.CPU.Seconds() }),
	figure.Many("evenkeel.recorder.cpu", "s", "Processor time that the recorder took.",
		figure.Counter, func(s *recorder.Stats, put figure.PutFunc) {
			put(s.Cost.Tracing.Seconds(), partKey.String("tracing"))
			put(s.Cost.Snapshots.Seconds(), partKey.String("snapshots"))
			put(s.Cost.Analysis.Seconds(), partKey.String("analysis"))
		}),
	figure.One("evenkeel.recorder.cpu.tracing.within", "s", "The ± of tracing's CPU time; 0: not measured yet.",
		figure.Gauge, func(s *recorder.Stats) float64 { return s.Cost.Within.Seconds() }),
	figure.One("evenkeel.recorder.cpu.budget", "s", "Processor time that the recorder might have taken.",
		figure.Counter, func(s *recorder.Stats) float64 { return s.Cost.Budget.Seconds() }),
}

// maxClasses is how many classes of slow requests the metrics tell apart.
const maxClasses = 64

// A Recorder exports what a recorder finds. [New] makes it. Any goroutine may call its methods.
type Recorder struct {
	meter  metric.Meter
	tracer trace.Tracer
	spans  spans

	explained, lost metric.Float64Counter
	fresh           metric.Float64Counter
	classes         classes // owned by the recorder's goroutine

	mu           sync.Mutex
	registration metric.Registration // nil: not attached; guarded by mu
	cancel       func()              // of the subscription; guarded by mu
}

// New returns a Recorder. Set recorder.Options.TraceID to [Recorder.TraceID], and call
// [Recorder.Attach].
func New(o Options) (r *Recorder, err error) {
	r = &Recorder{
		meter:   cmp.Or(o.MeterProvider, global.GetMeterProvider()).Meter(scope),
		tracer:  cmp.Or(o.TracerProvider, global.GetTracerProvider()).Tracer(scope),
		classes: classes{max: maxClasses, known: map[string]bool{}},
	}
	for _, c := range []struct {
		to               *metric.Float64Counter
		name, unit, help string
	}{
		{&r.explained, "evenkeel.recorder.requests.explained", "{request}", "Slow requests that a snapshot explains."},
		{&r.lost, "evenkeel.recorder.lost", "s", "Time that a cause took of slow requests beyond a usual request's."},
		{
			&r.fresh, "evenkeel.recorder.causes.new", "{cause}",
			"New causes, at most five per hour. None in the first hour that a service is watched.",
		},
	} {
		*c.to, err = r.meter.Float64Counter(c.name, metric.WithUnit(c.unit), metric.WithDescription(c.help))
		if err != nil {
			return nil, err
		}
	}
	r.fresh.Add(context.Background(), 0) // so that the first is an increase
	return r, nil
}

// TraceID is for recorder.Options.TraceID. It returns the trace id of the span in ctx, or "", and
// remembers the span of the slow request.
func (r *Recorder) TraceID(ctx context.Context) string {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return ""
	}
	if span.IsSampled() {
		r.spans.add(span, time.Now())
	}
	return span.TraceID().String()
}

// Attach begins to export [recorder.Stats], and the requests that rec explains from now on.
// [Recorder.Close] ends it. A second Attach fails.
func (r *Recorder) Attach(rec *recorder.Recorder) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.registration != nil {
		return errors.New("otelrecorder: a recorder is attached already; make another Recorder by New")
	}
	registration, err := figure.Register(r.meter, figures, rec.Stats)
	if err != nil {
		return err
	}
	r.registration, r.cancel = registration, rec.Subscribe(r.add)
	return nil
}

// Close ends what Attach began. The caller owns the providers, and flushes them.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.registration == nil || r.cancel == nil {
		return nil
	}
	r.cancel()
	r.cancel = nil
	return r.registration.Unregister()
}

// add counts a request and makes its span, in the recorder's goroutine.
func (r *Recorder) add(e recorder.Explained) {
	ctx, end := context.Background(), e.Start.Add(e.Duration)
	span, ok := r.spans.take(e.TraceID, end)
	if ok {
		ctx = trace.ContextWithSpanContext(ctx, span) // it is the exemplar, too
	}
	cause, class := causeKey.String(e.Cause.String()), classKey.String(r.classes.name(e.Class))
	set := metric.WithAttributeSet(attribute.NewSet(cause, class))
	r.explained.Add(ctx, 1, set)
	r.lost.Add(ctx, max(e.Lost, 0).Seconds(), set)
	if e.New {
		r.fresh.Add(ctx, 1)
	}
	if ok {
		_, s := r.tracer.Start(ctx, "slow request",
			trace.WithTimestamp(e.Start), trace.WithAttributes(attributes(&e)...))
		s.End(trace.WithTimestamp(end))
	}
}

func attributes(e *recorder.Explained) []attribute.KeyValue {
	list := []attribute.KeyValue{
		causeKey.String(e.Cause.String()), lostKey.Float64(e.Lost.Seconds()), newKey.Bool(e.New),
	}
	for _, a := range []struct {
		key  attribute.Key
		text string
	}{
		{classKey, e.Class},
		{wordsKey, e.Words},
		{functionKey, e.Function},
		{placeKey, e.Place},
		{holderKey, e.Holder},
		{holderPlaceKey, e.HolderPlace},
		{snapshotKey, e.Snapshot},
	} {
		if a.text != "" {
			// Protobuf refuses what is not UTF-8.
			list = append(list, a.key.String(strings.ToValidUTF8(a.text, "\uFFFD")))
		}
	}
	return list
}

type classes struct {
	max   int
	known map[string]bool
}

// name returns the class if there is room.
func (c *classes) name(class string) string {
	class = strings.ToValidUTF8(class, "\uFFFD")
	if class == reqtrace.OtherClasses || c.known[class] {
		return class
	}
	if len(c.known) >= c.max {
		return reqtrace.OtherClasses
	}
	c.known[class] = true
	return class
}

// Options configure [New]. The zero value works.
type Options struct {
	// MeterProvider gets the metrics. Default: nil, the global one.
	MeterProvider metric.MeterProvider

	// TracerProvider gets the spans of slow requests. Its processor must not wait, so use a
	// batching one. Default: nil, the global one.
	TracerProvider trace.TracerProvider
}

const scope = "evenkeel.dev/contrib/otel/otelrecorder"
