package prometheus

import (
	prom "github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/aio"
)

type aioStats = aio.Stats

var aioFigures = []figure[aioStats]{
	gauge("evenkeel_aio_connections", "Connections that are open.", func(s *aioStats) float64 { return float64(s.Conns) }),
	gauge("evenkeel_aio_listeners", "Listeners that are open.", func(s *aioStats) float64 { return float64(s.Listeners) }),
	gauge("evenkeel_aio_pending_operations", "Operations submitted and not yet over.", func(s *aioStats) float64 { return float64(s.Pending) }),
	gauge("evenkeel_aio_queued_bytes", "Bytes of writes that WaitIO has not returned.", func(s *aioStats) float64 { return float64(s.QueuedBytes) }),
	counter("evenkeel_aio_operations_total", "Operations that were begun.", func(s *aioStats) float64 { return float64(s.Operations) }),
	counter("evenkeel_aio_results_total", "Operations that WaitIO returned.", func(s *aioStats) float64 { return float64(s.Results) }),
	counter("evenkeel_aio_refused_operations_total", "Operations that came back without having been begun.", func(s *aioStats) float64 { return float64(s.Refused) }),
	counter("evenkeel_aio_read_bytes_total", "Bytes that were read.", func(s *aioStats) float64 { return float64(s.BytesRead) }),
	counter("evenkeel_aio_written_bytes_total", "Bytes that were written.", func(s *aioStats) float64 { return float64(s.BytesWritten) }),
	counter("evenkeel_aio_accepted_connections_total", "Connections that were accepted in the loop.", func(s *aioStats) float64 { return float64(s.Accepted) }),
	counter("evenkeel_aio_dialled_connections_total", "Connections that Dial has made.", func(s *aioStats) float64 { return float64(s.Dialled) }),
	counter("evenkeel_aio_accept_stalls_total", "How often a connection waited to be accepted, at a limit.", func(s *aioStats) float64 { return float64(s.AcceptStalls) }),
	counter("evenkeel_aio_cancelled_operations_total", "Operations that were ended at their deadline, by Cancel or by Shutdown.", func(s *aioStats) float64 { return float64(s.Cancelled) }),
	counter("evenkeel_aio_swap_full_total", "How often a read found the swap buffer full and waited for the next WaitIO.", func(s *aioStats) float64 { return float64(s.SwapFull) }),
	counter("evenkeel_aio_leaked_operations_total", "Operations whose memory the kernel did not return at Close.", func(s *aioStats) float64 { return float64(s.Leaked) }),
	counter("evenkeel_aio_polls_total", "How often the kernel was asked.", func(s *aioStats) float64 { return float64(s.Polls) }),
	counter("evenkeel_aio_waits_total", "How often the kernel was waited for.", func(s *aioStats) float64 { return float64(s.Waits) }),
	gauge("evenkeel_aio_late_max_seconds", "The longest time after its deadline at which an operation was ended.", func(s *aioStats) float64 { return s.LateMax.Seconds() }),
}

// The one with a label, and the summary.
var (
	backendDesc = describe("evenkeel_aio_backend_info", "1 for the backend in use.", "backend")
	lateDesc    = describe("evenkeel_aio_late_seconds", "Time after their deadline at which operations were ended.")
)

// watcherCollector is the collector of a watcher. It has no state of its own.
type watcherCollector struct {
	stats func() aio.Stats
}

// NewWatcher returns a collector of all figures of [aio.Stats], which each scrape reads once. It works on when w is closed. A
// process with several watchers registers each under prometheus.WrapRegistererWith, with a label that tells them apart.
func NewWatcher(w *aio.Watcher) prom.Collector { return watcherCollector{w.Stats} }

// Describe is of prometheus.Collector.
func (c watcherCollector) Describe(to chan<- *prom.Desc) {
	describeAll(aioFigures, to)
	to <- backendDesc
	to <- lateDesc
}

// Collect is of prometheus.Collector.
func (c watcherCollector) Collect(to chan<- prom.Metric) {
	s := c.stats()
	collect(aioFigures, &s, to)
	to <- prom.MustNewConstMetric(backendDesc, prom.GaugeValue, 1, s.Backend)
	to <- prom.MustNewConstSummary(lateDesc, s.Expired, s.Late.Seconds(), nil)
}
