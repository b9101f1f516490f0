// Package promaio exports what a Watcher of evenkeel.dev/aio does to Prometheus:
//
//	registry.MustRegister(promaio.New(watcher))
//
// # Metrics
//
// All of [aio.Stats]. Counters begin with the Watcher.
//
//	evenkeel_aio_backend_info{backend}                1 for the one in use
//	evenkeel_aio_connections
//	evenkeel_aio_listeners
//	evenkeel_aio_pending_operations                   submitted and not yet over
//	evenkeel_aio_queued_bytes                         of writes that were not returned
//	evenkeel_aio_operations_total                     begun
//	evenkeel_aio_results_total                        returned by WaitIO
//	evenkeel_aio_refused_operations_total             of these, those that were not begun
//	evenkeel_aio_read_bytes_total
//	evenkeel_aio_written_bytes_total
//	evenkeel_aio_accepted_connections_total           accepted in the loop
//	evenkeel_aio_dialled_connections_total            that Dial has made
//	evenkeel_aio_accept_stalls_total   for lack of descriptors or memory, or at aio.Options.MaxConns
//	evenkeel_aio_cancelled_operations_total           at their deadline, by Cancel or by Shutdown
//	evenkeel_aio_late_seconds          summary: after their deadline, of those that were ended at it
//	evenkeel_aio_late_max_seconds                     the latest
//	evenkeel_aio_swap_full_total   reads that waited for the next WaitIO: a larger swap buffer helps
//	evenkeel_aio_leaked_operations_total              whose memory the kernel did not return
//	evenkeel_aio_polls_total                          how often the kernel was asked
//	evenkeel_aio_waits_total                          how often it was waited for
package promaio
