package otel

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"evenkeel.dev/reqtrace/history"
	"evenkeel.dev/reqtrace/recorder"
)

// ErrAttached is what [Recorder.Attach] returns for a second recorder.
var ErrAttached = errors.New("otel: a recorder is attached already: make another Recorder by NewRecorder")

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

type recStats = recorder.Stats

var recorderFigures = []figure[recStats]{
	one("evenkeel.recorder.requests", "{request}", "Requests that the service's own clock saw.", counter, func(s *recStats) float64 { return float64(s.Requests) }),
	one("evenkeel.recorder.requests.slow", "{request}", "Requests that took longer than the threshold.", counter, func(s *recStats) float64 { return float64(s.Slow) }),
	one("evenkeel.recorder.requests.kept", "{request}", "Slow requests in snapshots that the service does not analyse.",
		counter, func(s *recStats) float64 { return float64(s.Kept) }),
	one("evenkeel.recorder.recording", "1", "1 while it records.", upDown, func(s *recStats) float64 { return flag(s.On) }),
	one("evenkeel.recorder.threshold", "s", "From which on a request is slow.", gauge, func(s *recStats) float64 { return seconds(s.Threshold) }),
	one("evenkeel.recorder.window", "s", "Time that a snapshot goes back.", gauge, func(s *recStats) float64 { return seconds(s.Window) }),
	one("evenkeel.recorder.window.size", "By", "Size of the flight recorder's window.", upDown, func(s *recStats) float64 { return positive(s.Bytes) }),
	one("evenkeel.recorder.passed", "s", "Time since the recorder began.", counter, func(s *recStats) float64 { return s.Passed.Seconds() }),
	one("evenkeel.recorder.off", "s", "Time for which it was off to stay within recorder.Options.CPU.", counter, func(s *recStats) float64 { return s.Off.Seconds() }),
	one("evenkeel.recorder.covered", "s", "Time for which it recorded.", counter, func(s *recStats) float64 { return s.Covered.Seconds() }),
	one("evenkeel.recorder.snapshots", "{snapshot}", "Snapshots that were taken.", counter, func(s *recStats) float64 { return float64(s.Snapshots) }),
	one("evenkeel.recorder.snapshots.analyzed", "{snapshot}", "Snapshots that were analysed.", counter, func(s *recStats) float64 { return float64(s.Analyzed) }),
	{"evenkeel.recorder.snapshots.failed", "{snapshot}", "Snapshots that say nothing.", counter, func(s *recStats, put putFunc) {
		for reason, n := range s.Failures {
			put(float64(n), errorKey.String(reason))
		}
	}},
	one("evenkeel.recorder.process.cpu", "s", "Processor time that the process took.", counter, func(s *recStats) float64 { return s.CPU.Seconds() }),
	{"evenkeel.recorder.cpu", "s", "Processor time that the recorder took.", counter, func(s *recStats, put putFunc) {
		put(s.Cost.Tracing.Seconds(), partKey.String("tracing"))
		put(s.Cost.Snapshots.Seconds(), partKey.String("snapshots"))
		put(s.Cost.Analysis.Seconds(), partKey.String("analysis"))
	}},
	one("evenkeel.recorder.cpu.tracing.within", "s", "The ± of tracing's CPU time; 0: not measured yet.", gauge, func(s *recStats) float64 { return s.Cost.Within.Seconds() }),
	one("evenkeel.recorder.cpu.budget", "s", "Processor time that the recorder might have taken.", counter, func(s *recStats) float64 { return s.Cost.Budget.Seconds() }),
}

// A Recorder gives what a recorder has to say to OpenTelemetry. [NewRecorder] makes it, and its methods may be called from any
// goroutine.
type Recorder struct {
	meter  metric.Meter
	tracer trace.Tracer
	spans  *spans

	explained, lost metric.Float64Counter
	fresh           metric.Float64Counter
	classes         classes // owned by the recorder's goroutine

	mu           sync.Mutex
	registration metric.Registration // nil: not attached; guarded by mu
	cancel       func()              // of the subscription; guarded by mu
}

// NewRecorder returns a Recorder that [Recorder.Attach] attaches to a recorder, which has [Recorder.TraceID] in its Options.
func NewRecorder(o Options) (*Recorder, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &Recorder{
		meter: o.MeterProvider.Meter(scope), tracer: o.TracerProvider.Tracer(scope), spans: newSpans(),
		classes: classes{max: o.MaxClasses, known: map[string]bool{}},
	}
	for _, c := range []struct {
		to               *metric.Float64Counter
		name, unit, help string
	}{
		{&r.explained, "evenkeel.recorder.requests.explained", "{request}", "Slow requests that a snapshot explains."},
		{&r.lost, "evenkeel.recorder.lost", "s", "Time that a cause took of slow requests beyond a usual request's."},
		{&r.fresh, "evenkeel.recorder.causes.new", "{cause}", "New causes, at most five per hour. None in the first hour that a service is watched."},
	} {
		if *c.to, err = r.meter.Float64Counter(c.name, metric.WithUnit(c.unit), metric.WithDescription(c.help)); err != nil {
			return nil, err
		}
	}
	r.fresh.Add(context.Background(), 0) // so that the first is an increase
	return r, nil
}

// TraceID is for recorder.Options.TraceID: it returns the trace id of the span in ctx, "" for none, and remembers the span of the
// slow request.
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

// Attach begins: all figures of [recorder.Stats] are read at each collection of metrics, and the requests that rec explains from
// now on are counted and get their spans. rec explains requests with recorder.Options.InProcess or
// Analyze. [Recorder.Close] ends it.
func (r *Recorder) Attach(rec *recorder.Recorder) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.registration != nil {
		return ErrAttached
	}
	registration, err := register(r.meter, recorderFigures, rec.Stats)
	if err != nil {
		return err
	}
	r.registration, r.cancel = registration, rec.Subscribe(r.tell)
	return nil
}

// Close ends what Attach began. The providers are the caller's, who flushes them.
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

// tell counts a slow request and makes its span. It is called in the recorder's goroutine.
func (r *Recorder) tell(e recorder.Explained) {
	ctx, end := context.Background(), e.Start.Add(e.Duration)
	span, ok := r.spans.take(e.TraceID, end)
	if ok {
		ctx = trace.ContextWithSpanContext(ctx, span) // it is the exemplar, too
	}
	set := metric.WithAttributeSet(attribute.NewSet(causeKey.String(e.Key.Cause.String()), classKey.String(r.classes.name(e.Key.Class))))
	r.explained.Add(ctx, 1, set)
	r.lost.Add(ctx, max(e.Lost, 0).Seconds(), set)
	if e.New {
		r.fresh.Add(ctx, 1)
	}
	if ok {
		_, s := r.tracer.Start(ctx, "slow request", trace.WithTimestamp(e.Start), trace.WithAttributes(attributes(&e)...))
		s.End(trace.WithTimestamp(end))
	}
}

// attributes are those of a slow request's span.
func attributes(e *recorder.Explained) []attribute.KeyValue {
	list := []attribute.KeyValue{causeKey.String(e.Key.Cause.String()), lostKey.Float64(e.Lost.Seconds()), newKey.Bool(e.New)}
	for _, a := range []struct {
		key  attribute.Key
		text string
	}{
		{classKey, e.Key.Class},
		{wordsKey, e.Words},
		{functionKey, e.Key.Function},
		{placeKey, e.Place},
		{holderKey, e.Key.Holder},
		{holderPlaceKey, e.HolderPlace},
		{snapshotKey, e.Snapshot},
	} {
		if a.text != "" {
			list = append(list, a.key.String(strings.ToValidUTF8(a.text, "\uFFFD"))) // protobuf refuses what is no UTF-8
		}
	}
	return list
}

// classes are the first classes that were seen.
type classes struct {
	max   int
	known map[string]bool
}

// name returns what a class is called in metrics: itself, if there is room.
func (c *classes) name(class string) string {
	class = strings.ToValidUTF8(class, "\uFFFD")
	if class == history.Others || c.known[class] {
		return class
	}
	if len(c.known) >= c.max {
		return history.Others
	}
	c.known[class] = true
	return class
}
