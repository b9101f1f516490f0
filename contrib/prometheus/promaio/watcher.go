package promaio

import (
	prom "github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/aio"
	"evenkeel.dev/contrib/prometheus/internal/figure"
)

var figures = []figure.Figure[aio.Stats]{
	figure.Gauge("evenkeel_aio_connections", "Connections that are open.",
		func(s *aio.Stats) float64 { return float64(s.Conns) }),
	figure.Gauge("evenkeel_aio_listeners", "Listeners that are open.",
		func(s *aio.Stats) float64 { return float64(s.Listeners) }),
	figure.Gauge("evenkeel_aio_pending_operations", "Operations submitted and not yet over.",
		func(s *aio.Stats) float64 { return float64(s.Pending) }),
	figure.Gauge("evenkeel_aio_queued_bytes", "Bytes of writes that WaitIO has not returned.",
		func(s *aio.Stats) float64 { return float64(s.QueuedBytes) }),
	figure.Counter("evenkeel_aio_operations_total", "Operations that were begun.",
		func(s *aio.Stats) float64 { return float64(s.Operations) }),
	figure.Counter("evenkeel_aio_results_total", "Operations that WaitIO returned.",
		func(s *aio.Stats) float64 { return float64(s.Results) }),
	figure.Counter("evenkeel_aio_refused_operations_total", "Operations that came back without having been begun.",
		func(s *aio.Stats) float64 { return float64(s.Refused) }),
	figure.Counter("evenkeel_aio_read_bytes_total", "Bytes that were read.",
		func(s *aio.Stats) float64 { return float64(s.BytesRead) }),
	figure.Counter("evenkeel_aio_written_bytes_total", "Bytes that were written.",
		func(s *aio.Stats) float64 { return float64(s.BytesWritten) }),
	figure.Counter("evenkeel_aio_accepted_connections_total", "Connections that were accepted in the loop.",
		func(s *aio.Stats) float64 { return float64(s.Accepted) }),
	figure.Counter("evenkeel_aio_dialled_connections_total", "Connections that Dial has made.",
		func(s *aio.Stats) float64 { return float64(s.Dialled) }),
	figure.Counter("evenkeel_aio_accept_stalls_total", "How often a connection waited to be accepted, at a limit.",
		func(s *aio.Stats) float64 { return float64(s.AcceptStalls) }),
	figure.Counter("evenkeel_aio_cancelled_operations_total",
		"Operations that were ended at their deadline, by Cancel or by Shutdown.",
		func(s *aio.Stats) float64 { return float64(s.Cancelled) }),
	figure.Counter("evenkeel_aio_swap_full_total",
		"How often a read found the swap buffer full and waited for the next WaitIO.",
		func(s *aio.Stats) float64 { return float64(s.SwapFull) }),
	figure.Counter("evenkeel_aio_leaked_operations_total",
		"Operations whose memory the kernel did not return at Close.",
		func(s *aio.Stats) float64 { return float64(s.Leaked) }),
	figure.Counter("evenkeel_aio_polls_total", "How often the kernel was asked.",
		func(s *aio.Stats) float64 { return float64(s.Polls) }),
	figure.Counter("evenkeel_aio_waits_total", "How often the kernel was waited for.",
		func(s *aio.Stats) float64 { return float64(s.Waits) }),
	figure.Counter("evenkeel_aio_waited_seconds_total", "Time of these waits. In the rest the loop was busy.",
		func(s *aio.Stats) float64 { return s.Waited.Seconds() }),
	figure.Gauge("evenkeel_aio_late_max_seconds",
		"The longest time after its deadline at which an operation was ended.",
		func(s *aio.Stats) float64 { return s.LateMax.Seconds() }),
}

var (
	backendDesc = figure.Describe("evenkeel_aio_backend_info", "1 for the backend in use.", "backend")
	lateDesc    = figure.Describe("evenkeel_aio_late_seconds",
		"Time after their deadline at which operations were ended.")
)

// New returns a collector of [aio.Stats], which each scrape reads once. It works on after w is
// closed. Register several Watchers by prometheus.WrapRegistererWith, with a label each.
func New(w *aio.Watcher) prom.Collector { return newCollector(w.Stats) }

func newCollector(stats func() aio.Stats) prom.Collector {
	return &figure.Collector[aio.Stats]{
		Stats: stats, Figures: figures, Put: put,
		Others: []*prom.Desc{backendDesc, lateDesc},
	}
}

func put(s *aio.Stats, to chan<- prom.Metric) {
	to <- prom.MustNewConstMetric(backendDesc, prom.GaugeValue, 1, s.Backend)
	to <- prom.MustNewConstSummary(lateDesc, s.Expired, s.Late.Seconds(), nil)
}
