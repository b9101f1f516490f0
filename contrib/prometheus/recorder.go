package prometheus

import (
	"strings"
	"sync"
	"time"

	prom "github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/reqtrace/history"
	"evenkeel.dev/reqtrace/recorder"
)

type recStats = recorder.Stats

var recorderFigures = []figure[recStats]{
	gauge("evenkeel_recorder_start_timestamp_seconds", "When the recorder began.", func(s *recStats) float64 { return timestamp(s.Since) }),
	gauge("evenkeel_recorder_recording", "1 while it records.", func(s *recStats) float64 { return flag(s.On) }),
	gauge("evenkeel_recorder_threshold_seconds", "From which on a request is slow.", func(s *recStats) float64 { return seconds(s.Threshold) }),
	gauge("evenkeel_recorder_window_seconds", "Time that a snapshot goes back.", func(s *recStats) float64 { return seconds(s.Window) }),
	gauge("evenkeel_recorder_window_bytes", "Size of the flight recorder's window.", func(s *recStats) float64 { return positive(s.Bytes) }),
	counter("evenkeel_recorder_passed_seconds_total", "Time since the recorder began.", func(s *recStats) float64 { return s.Passed.Seconds() }),
	counter("evenkeel_recorder_covered_seconds_total", "Time for which it recorded.", func(s *recStats) float64 { return s.Covered.Seconds() }),
	counter("evenkeel_recorder_off_seconds_total", "Time for which it was off to stay within recorder.Options.CPU.", func(s *recStats) float64 { return s.Off.Seconds() }),
	counter("evenkeel_recorder_requests_total", "Requests that the service's own clock saw.", func(s *recStats) float64 { return float64(s.Requests) }),
	counter("evenkeel_recorder_slow_requests_total", "Requests that took longer than the threshold.", func(s *recStats) float64 { return float64(s.Slow) }),
	counter("evenkeel_recorder_kept_requests_total", "Slow requests in snapshots that the service does not analyse.",
		func(s *recStats) float64 { return float64(s.Kept) }),
	counter("evenkeel_recorder_snapshots_total", "Snapshots that were taken.", func(s *recStats) float64 { return float64(s.Snapshots) }),
	counter("evenkeel_recorder_analyzed_snapshots_total", "Snapshots that were analysed.", func(s *recStats) float64 { return float64(s.Analyzed) }),
	counter("evenkeel_recorder_process_cpu_seconds_total", "Processor time that the process took.", func(s *recStats) float64 { return s.CPU.Seconds() }),
	gauge("evenkeel_recorder_tracing_cpu_within_seconds", "The ± of tracing's CPU time; 0: not measured yet.", func(s *recStats) float64 { return s.Cost.Within.Seconds() }),
	counter("evenkeel_recorder_cpu_budget_seconds_total", "Processor time that the recorder might have taken.", func(s *recStats) float64 { return s.Cost.Budget.Seconds() }),
}

// Those with labels, and the one that is counted here.
var (
	failedDesc    = describe("evenkeel_recorder_failed_snapshots_total", "Snapshots that say nothing.", "reason")
	costDesc      = describe("evenkeel_recorder_cpu_seconds_total", "Processor time that the recorder took.", "part")
	explainedDesc = describe("evenkeel_recorder_explained_requests_total", "Slow requests that a snapshot explains.", "cause", "class")
	lostDesc      = describe("evenkeel_recorder_lost_seconds_total", "Time that a cause took of slow requests beyond a usual request's.", "cause", "class")
	newDesc       = describe("evenkeel_recorder_new_causes_total", "New causes, at most five per hour. None in the first hour that a service is watched.")
)

// A Recorder is the collector of a recorder. [NewRecorder] makes it, and its methods may be called from any goroutine.
type Recorder struct {
	stats  func() recorder.Stats
	cancel func() // of the subscription

	mu      sync.Mutex
	classes *classes           // guarded by mu
	slow    map[labels]*losses // guarded by mu
	fresh   uint64             // new causes; guarded by mu
}

// labels are what slow requests are told apart by.
type labels struct {
	cause, class string
}

// losses are what slow requests of the same labels sum up to.
type losses struct {
	requests uint64
	lost     time.Duration
	last     history.Request // the one that ended last
}

// NewRecorder returns a collector of all figures of [recorder.Stats], which each scrape reads once, and of the requests that r
// explains from now on. r explains requests with recorder.Options.InProcess or Analyze. The
// collector works on when r has stopped. After [Recorder.Close] it hears of no further requests.
func NewRecorder(r *recorder.Recorder, o Options) (*Recorder, error) {
	c, err := newRecorder(r.Stats, o)
	if err != nil {
		return nil, err
	}
	c.cancel = r.Subscribe(c.add)
	return c, nil
}

func newRecorder(stats func() recorder.Stats, o Options) (*Recorder, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Recorder{stats: stats, classes: &classes{max: o.MaxClasses, known: map[string]bool{}}, slow: map[labels]*losses{}}, nil
}

// Close lets the recorder go. What was counted stays.
func (c *Recorder) Close() { c.cancel() }

// add counts a request. It is called in the recorder's goroutine.
func (c *Recorder) add(e recorder.Explained) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := labels{e.Key.Cause.String(), c.classes.name(e.Key.Class)}
	l := c.slow[key]
	if l == nil {
		l = &losses{}
		c.slow[key] = l
	}
	l.requests++
	l.lost += max(e.Lost, 0)
	if end(&e.Request).After(end(&l.last)) {
		l.last = e.Request
		l.last.Path = nil // the rest is short
	}
	if e.New {
		c.fresh++
	}
}

func end(q *history.Request) time.Time { return q.Start.Add(q.Duration) }

// classes are the first classes that were seen.
type classes struct {
	max   int
	known map[string]bool
}

// name returns the label for a class: itself, if there is room.
func (c *classes) name(class string) string {
	class = strings.ToValidUTF8(class, "\uFFFD") // a label has to be
	if class == history.Others || c.known[class] {
		return class
	}
	if len(c.known) >= c.max {
		return history.Others
	}
	c.known[class] = true
	return class
}

// Describe is of prometheus.Collector.
func (c *Recorder) Describe(to chan<- *prom.Desc) {
	describeAll(recorderFigures, to)
	for _, d := range []*prom.Desc{failedDesc, costDesc, explainedDesc, lostDesc, newDesc} {
		to <- d
	}
}

// Collect is of prometheus.Collector.
func (c *Recorder) Collect(to chan<- prom.Metric) {
	s := c.stats()
	collect(recorderFigures, &s, to)
	for reason, n := range s.Failures {
		to <- prom.MustNewConstMetric(failedDesc, prom.CounterValue, float64(n), reason)
	}
	to <- prom.MustNewConstMetric(costDesc, prom.CounterValue, s.Cost.Tracing.Seconds(), "tracing")
	to <- prom.MustNewConstMetric(costDesc, prom.CounterValue, s.Cost.Snapshots.Seconds(), "snapshots")
	to <- prom.MustNewConstMetric(costDesc, prom.CounterValue, s.Cost.Analysis.Seconds(), "analysis")

	c.mu.Lock()
	defer c.mu.Unlock()
	to <- prom.MustNewConstMetric(newDesc, prom.CounterValue, float64(c.fresh))
	for key, l := range c.slow {
		to <- withExemplar(prom.MustNewConstMetric(explainedDesc, prom.CounterValue, float64(l.requests), key.cause, key.class), &l.last, l.last.Duration)
		to <- withExemplar(prom.MustNewConstMetric(lostDesc, prom.CounterValue, l.lost.Seconds(), key.cause, key.class), &l.last, l.last.Lost)
	}
}

// withExemplar adds a request's ids to a metric. OpenMetrics has room for 128 characters of them; what is longer is left out.
func withExemplar(m prom.Metric, q *history.Request, value time.Duration) prom.Metric {
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
	with, err := prom.NewMetricWithExemplars(m, prom.Exemplar{Value: value.Seconds(), Labels: ids, Timestamp: end(q)})
	if err != nil {
		return m
	}
	return with
}
