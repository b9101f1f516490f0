package promaio

import (
	prom "github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/aio"
	"evenkeel.dev/contrib/prometheus/internal/figure"
)

var figures = []figure.Figure{
	figure.Gauge("evenkeel_aio_connections", "Conns", "Connections that are open."),
	figure.Gauge("evenkeel_aio_listeners", "Listeners", "Listeners that are open."),
	figure.Gauge("evenkeel_aio_pending_operations", "Pending", "Operations submitted and not yet over."),
	figure.Gauge("evenkeel_aio_queued_bytes", "QueuedBytes", "Bytes of writes that WaitIO has not returned."),
	figure.Counter("evenkeel_aio_operations_total", "Operations", "Operations that were begun."),
	figure.Counter("evenkeel_aio_results_total", "Results", "Operations that WaitIO returned."),
	figure.Counter("evenkeel_aio_refused_operations_total", "Refused",
		"Operations that came back without having been begun."),
	figure.Counter("evenkeel_aio_read_bytes_total", "BytesRead", "Bytes that were read."),
	figure.Counter("evenkeel_aio_written_bytes_total", "BytesWritten", "Bytes that were written."),
	figure.Counter("evenkeel_aio_accepted_connections_total", "Accepted",
		"Connections that were accepted in the loop."),
	figure.Counter("evenkeel_aio_dialled_connections_total", "Dialled", "Connections that Dial has made."),
	figure.Counter("evenkeel_aio_accept_stalls_total", "AcceptStalls",
		"How often a connection waited to be accepted, at a limit."),
	figure.Counter("evenkeel_aio_cancelled_operations_total", "Cancelled",
		"Operations that were ended at their deadline, by Cancel or by Shutdown."),
	figure.Counter("evenkeel_aio_swap_full_total", "SwapFull",
		"How often a read found the swap buffer full and waited for the next WaitIO."),
	figure.Counter("evenkeel_aio_polls_total", "Polls", "How often the kernel was asked."),
	figure.Counter("evenkeel_aio_waits_total", "Waits", "How often the kernel was waited for."),
	figure.Counter("evenkeel_aio_waited_seconds_total", "Waited",
		"Time of these waits. In the rest the loop was busy."),
	figure.Gauge("evenkeel_aio_late_max_seconds", "LateMax",
		"The longest time after its deadline at which an operation was ended."),
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
