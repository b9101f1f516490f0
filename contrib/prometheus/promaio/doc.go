// Package promaio exports what a Watcher of evenkeel.dev/aio does to Prometheus:
//
//	registry.MustRegister(promaio.New(watcher))
//
// # Metrics
//
// All of [aio.Stats]. Counters begin with the Watcher.
//
//	evenkeel_aio_backend_info{backend}
//	evenkeel_aio_connections
//	evenkeel_aio_listeners
//	evenkeel_aio_pending_operations
//	evenkeel_aio_queued_bytes
//	evenkeel_aio_operations_total
//	evenkeel_aio_results_total
//	evenkeel_aio_refused_operations_total
//	evenkeel_aio_read_bytes_total
//	evenkeel_aio_written_bytes_total
//	evenkeel_aio_accepted_connections_total
//	evenkeel_aio_dialled_connections_total
//	evenkeel_aio_accept_stalls_total
//	evenkeel_aio_cancelled_operations_total
//	evenkeel_aio_late_seconds
//	evenkeel_aio_late_max_seconds
//	evenkeel_aio_swap_full_total
//	evenkeel_aio_leaked_operations_total
//	evenkeel_aio_polls_total
//	evenkeel_aio_waits_total
package promaio
