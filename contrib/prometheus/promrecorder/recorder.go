package promrecorder

import (
	"strings"
	"sync"
	"time"

	prom "github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/contrib/prometheus/internal/figure"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/recorder"
)

var figures = []figure.Figure{
	figure.Positive("evenkeel_recorder_start_timestamp_seconds", "Since", "When the recorder began."),
	figure.Gauge("evenkeel_recorder_recording", "On", "1 while it records."),
	figure.Positive("evenkeel_recorder_threshold_seconds", "Threshold", "Time from which on a request is slow."),
	figure.Positive("evenkeel_recorder_window_seconds", "Window", "Time that a snapshot goes back."),
	figure.Positive("evenkeel_recorder_window_bytes", "Bytes", "Size of the flight recorder's window."),
	figure.Counter("evenkeel_recorder_passed_seconds_total", "Passed", "Time since the recorder began."),
	figure.Counter("evenkeel_recorder_covered_seconds_total", "Covered", "Time for which it recorded."),
	figure.Counter("evenkeel_recorder_off_seconds_total", "Off",
		"Time for which it was off to stay within recorder.Options.CPU."),
	figure.Counter("evenkeel_recorder_requests_total", "Requests", "Requests that the service's own clock saw."),
	figure.Counter("evenkeel_recorder_slow_requests_total", "Slow", "Requests that took longer than the threshold."),
	figure.Counter("evenkeel_recorder_kept_requests_total", "Kept",
		"Slow requests in snapshots that the service does not analyse."),
	figure.Counter("evenkeel_recorder_snapshots_total", "Snapshots", "Snapshots that were taken."),
	figure.Counter("evenkeel_recorder_analyzed_snapshots_total", "Analyzed", "Snapshots that were analysed."),
	figure.Counter("evenkeel_recorder_process_cpu_seconds_total", "CPU", "Processor time that the process took."),
	figure.Gauge("evenkeel_recorder_tracing_cpu_within_seconds", "Cost.Within",
		"The ± of tracing's CPU time; 0: not measured yet."),
	figure.Counter("evenkeel_recorder_cpu_budget_seconds_total", "Cost.Budget",
		"Processor time that the recorder might have taken."),
}

var (
	failedDesc = figure.Describe("evenkeel_recorder_failed_snapshots_total", "Snapshots that say nothing.", "reason")
	costDesc   = figure.Describe("evenkeel_recorder_cpu_seconds_total", "Processor time that the recorder took.",
		"part")
	explainedDesc = figure.Describe("evenkeel_recorder_explained_requests_total",
		"Slow requests that a snapshot explains.", "cause", "class")
	lostDesc = figure.Describe("evenkeel_recorder_lost_seconds_total",
		"Time that a cause took of slow requests beyond a usual request's.", "cause", "class")
	newDesc = figure.Describe("evenkeel_recorder_new_causes_total",
		"New causes, at most five per hour. None in the first hour that a service is watched.")
)

// maxClasses is how many classes of slow requests have samples of their own, two for each cause.
const maxClasses = 64

// A Collector is a prometheus.Collector of a recorder. [New] makes it. Any goroutine may call its
// methods.
type Collector struct {
	figures figure.Collector[recorder.Stats]
	cancel  func()

	mu      sync.Mutex
	classes *classes           // guarded by mu
	slow    map[labels]*losses // guarded by mu
	fresh   uint64             // new causes; guarded by mu
}

type labels struct {
	cause, class string
}

type losses struct {
	requests uint64
	lost     time.Duration
	last     recorder.Explained // the one that ended last
}

// New returns a collector of [recorder.Stats], which each scrape reads once, and of the requests
// that r explains from now on. It works on after r has stopped. [Collector.Close] ends its
// subscription.
func New(r *recorder.Recorder) *Collector {
	c := newCollector(r.Stats)
	c.cancel = r.Subscribe(c.add)
	return c
}

func newCollector(stats func() recorder.Stats) *Collector {
	c := &Collector{classes: &classes{max: maxClasses, known: map[string]bool{}}, slow: map[labels]*losses{}}
	c.figures = figure.Collector[recorder.Stats]{
		Stats: stats, Figures: figures, Put: c.put,
		Others: []*prom.Desc{failedDesc, costDesc, explainedDesc, lostDesc, newDesc},
	}
	return c
}

// Close ends the subscription to the recorder. The counts stay.
func (c *Collector) Close() { c.cancel() }

// add runs in the recorder's goroutine.
func (c *Collector) add(e recorder.Explained) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := labels{e.Cause.String(), c.classes.name(e.Class)}
	l := c.slow[key]
	if l == nil {
		l = &losses{}
		c.slow[key] = l
	}
	l.requests++
	l.lost += max(e.Lost, 0)
	if end(&e).After(end(&l.last)) {
		l.last = e
	}
	if e.New {
		c.fresh++
	}
}

func end(q *recorder.Explained) time.Time { return q.Start.Add(q.Duration) }

type classes struct {
	max   int
	known map[string]bool
}

// name returns the class if there is room.
func (c *classes) name(class string) string {
	class = strings.ToValidUTF8(class, "\uFFFD") // a label must be UTF-8
	if class == reqtrace.OtherClasses || c.known[class] {
		return class
	}
	if len(c.known) >= c.max {
		return reqtrace.OtherClasses
	}
	c.known[class] = true
	return class
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prom.Desc) { c.figures.Describe(to) }

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prom.Metric) { c.figures.Collect(to) }

func (c *Collector) put(s *recorder.Stats, to chan<- prom.Metric) {
	counter := func(desc *prom.Desc, value float64, labels ...string) prom.Metric {
		return prom.MustNewConstMetric(desc, prom.CounterValue, value, labels...)
	}
	for reason, n := range s.Failures {
		to <- counter(failedDesc, float64(n), reason)
	}
	to <- counter(costDesc, s.Cost.Tracing.Seconds(), "tracing")
	to <- counter(costDesc, s.Cost.Snapshots.Seconds(), "snapshots")
	to <- counter(costDesc, s.Cost.Analysis.Seconds(), "analysis")

	c.mu.Lock()
	defer c.mu.Unlock()
	to <- counter(newDesc, float64(c.fresh))
	for key, l := range c.slow {
		requests := counter(explainedDesc, float64(l.requests), key.cause, key.class)
		lost := counter(lostDesc, l.lost.Seconds(), key.cause, key.class)
		to <- withExemplar(requests, &l.last, l.last.Duration)
		to <- withExemplar(lost, &l.last, l.last.Lost)
	}
}

// withExemplar adds a request's ids to a metric. OpenMetrics has room for 128 characters of them,
// so longer ones are left out.
func withExemplar(m prom.Metric, q *recorder.Explained, value time.Duration) prom.Metric {
	ids := prom.Labels{}
	if q.Snapshot != "" {
		ids["snapshot"] = q.Snapshot
	}
	if q.TraceID != "" {
		ids["trace_id"] = q.TraceID
	}
	if len(ids) == 0 {
		return m
	}
	exemplar := prom.Exemplar{Value: value.Seconds(), Labels: ids, Timestamp: end(q)}
	with, err := prom.NewMetricWithExemplars(m, exemplar)
	if err != nil {
		return m
	}
	return with
}
