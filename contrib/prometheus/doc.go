// Package prometheus has collectors for github.com/prometheus/client_golang, of a gate of evenkeel.dev/gcgate, of a recorder
// of evenkeel.dev/reqtrace/recorder, of a watcher of evenkeel.dev/aio and of a server of evenkeel.dev/httpd. Import it under another name, as that package is called prometheus, too:
//
//	import evenkeel "evenkeel.dev/contrib/prometheus"
//
//	registry.MustRegister(evenkeel.NewGate(gate))
//	slow, err := evenkeel.NewRecorder(rec, evenkeel.Options{})
//	registry.MustRegister(slow)
//	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
//
// Alert rules and a dashboard are in deploy/prometheus, each expression of which a test runs in a Prometheus server.
//
// What is not known has no sample, rather than a 0: the load of turns that were never held, a threshold that is not chosen yet,
// a memory limit that there is not.
//
// # Metrics of a gate
//
// All of [gcgate.Stats], but the words of its Advice. Counters begin with the gate.
//
//	evenkeel_gate_policy_info{policy}                    1 for the policy that it has chosen
//	evenkeel_gate_state{state}                           1 for the state that it is in, 0 for the others
//	evenkeel_gate_requests_total                         requests that entered
//	evenkeel_gate_requests_in_flight
//	evenkeel_gate_oldest_request_seconds                 how long the oldest of them has been in flight, at least
//	evenkeel_gate_overlapped_requests_total{collection}  of them, those that met a mark phase: of the "gate", or an "other" one
//	evenkeel_gate_straggler_requests_total               entered while the gate was collecting
//	evenkeel_gate_refused_requests_total                 refused under PolicyShed
//	evenkeel_gate_collections_total{reason}              the gate's own, by why
//	evenkeel_gate_escaped_collections_total              that the runtime began by itself
//	evenkeel_gate_unheeded_collections_total             before or during which requests kept coming
//	evenkeel_gate_collections_without_turn_total
//	evenkeel_gate_lost_turns_total                       turns that were lost while they were held
//	evenkeel_gate_phase_seconds{state}                   summary: time in a state, of collections that ended
//	evenkeel_gate_phase_max_seconds{state}               the longest since the start
//	evenkeel_gate_collection_expected_seconds            how long the next one takes, from its announcement
//	evenkeel_gate_next_collection_timestamp_seconds      when it is expected
//	evenkeel_gate_heap_bytes                             objects, dead ones included
//	evenkeel_gate_heap_live_bytes                        after the last collection
//	evenkeel_gate_heap_trigger_bytes                     at which a collection is due
//	evenkeel_gate_heap_hard_bytes                        at which it does not wait for a turn
//	evenkeel_gate_memory_limit_bytes
//	evenkeel_gate_allocated_bytes_total                  since the process began
//	evenkeel_gate_turn_held_seconds                      summary: for which this replica has held a turn
//	evenkeel_gate_turn_held_max_seconds
//	evenkeel_gate_turn_held_up_seconds                   the turn, or the wait for it, by one peer or holder; 0: not
//	evenkeel_gate_turns_held                             that it holds now
//	evenkeel_gate_turns                                  how many may be held at once
//	evenkeel_gate_replicas
//	evenkeel_gate_turn_load_ratio                        share of the time for which all turns would be held; above 1 they do not suffice
//	evenkeel_gate_turn_longest_wait_seconds              if all replicas wanted a turn at once
//	evenkeel_gate_turn_spare_seconds                     that the heap takes from the trigger to the hard threshold
//	evenkeel_gate_advice                                 1 while the gate's page has advice
//
// # Metrics of a recorder
//
// All of [recorder.Stats], and the slow requests that it has explained since [NewRecorder], by cause
// and class. Those need recorder.Options.InProcess or Analyze.
//
//	evenkeel_recorder_start_timestamp_seconds
//	evenkeel_recorder_recording                          1 while it records
//	evenkeel_recorder_threshold_seconds                  from which on a request is slow
//	evenkeel_recorder_window_seconds                     that a snapshot goes back
//	evenkeel_recorder_window_bytes
//	evenkeel_recorder_passed_seconds_total               since it began; covered by passed is the coverage
//	evenkeel_recorder_covered_seconds_total              of them, while it recorded
//	evenkeel_recorder_off_seconds_total                  how long it was off to stay within recorder.Options.CPU
//	evenkeel_recorder_requests_total
//	evenkeel_recorder_slow_requests_total                of them, by the service's own clock
//	evenkeel_recorder_kept_requests_total                of them, in snapshots that the service does not analyse
//	evenkeel_recorder_explained_requests_total{cause,class}  of them, those that a snapshot explains
//	evenkeel_recorder_lost_seconds_total{cause,class}    what the cause took of them beyond a usual request's
//	evenkeel_recorder_new_causes_total                   new causes, at most five per hour
//	evenkeel_recorder_snapshots_total
//	evenkeel_recorder_analyzed_snapshots_total           of them
//	evenkeel_recorder_failed_snapshots_total{reason}     of them, those that say nothing
//	evenkeel_recorder_process_cpu_seconds_total          what the process took
//	evenkeel_recorder_cpu_seconds_total{part}            CPU time of the recorder: "tracing", "snapshots", "analysis"
//	evenkeel_recorder_tracing_cpu_within_seconds         ± of tracing's CPU time; 0: not measured yet
//	evenkeel_recorder_cpu_budget_seconds_total           that it might have taken
//
// # Metrics of a watcher
//
// All of [aio.Stats]. Counters begin with the watcher.
//
//	evenkeel_aio_backend_info{backend}                   1 for the one in use
//	evenkeel_aio_connections
//	evenkeel_aio_listeners
//	evenkeel_aio_pending_operations                      submitted and not yet over
//	evenkeel_aio_queued_bytes                            of writes that were not returned
//	evenkeel_aio_operations_total                        begun
//	evenkeel_aio_results_total                           returned by WaitIO
//	evenkeel_aio_refused_operations_total                of these, those that were not begun
//	evenkeel_aio_read_bytes_total
//	evenkeel_aio_written_bytes_total
//	evenkeel_aio_accepted_connections_total              accepted in the loop
//	evenkeel_aio_dialled_connections_total               that Dial has made
//	evenkeel_aio_accept_stalls_total                     for lack of descriptors or memory, or at aio.Options.MaxConns
//	evenkeel_aio_cancelled_operations_total              at their deadline, by Cancel or by Shutdown
//	evenkeel_aio_late_seconds                            summary: after their deadline, of those that were ended at it
//	evenkeel_aio_late_max_seconds                        the latest
//	evenkeel_aio_swap_full_total                         reads that waited for the next WaitIO: a larger swap buffer helps
//	evenkeel_aio_leaked_operations_total                 whose memory the kernel did not return
//	evenkeel_aio_polls_total                             how often the kernel was asked
//	evenkeel_aio_waits_total                             how often it was waited for
//
// # Metrics of a server
//
// All of [httpd.Stats]. Counters begin with the first Serve of the http.Server.
//
//	evenkeel_httpd_connections
//	evenkeel_httpd_parked_connections                    of them, without a goroutine
//	evenkeel_httpd_hijacked_connections                  of them
//	evenkeel_httpd_workers                               net/http's goroutines
//	evenkeel_httpd_queued_bytes                          memory of answers that wait to be sent
//	evenkeel_httpd_unread_bytes                          read, and not asked for
//	evenkeel_httpd_accepted_connections_total
//	evenkeel_httpd_accept_stalls_total                   for lack of descriptors or memory, or at httpd.Options.MaxConns
//	evenkeel_httpd_idle_timeouts_total                   connections
//	evenkeel_httpd_refused_total{reason}                 "header timeout", "handshake", "bad request", "unattached", "unsent"
//
// # Cardinality
//
// There are 16 causes, and [Options].MaxClasses classes, those seen first; what comes later is of the class "(others)". Causes are
// not told apart by functions here, as the recorder's page does: a deployment could bring any number of these.
//
// # Exemplars
//
// The samples with a cause carry the last such request as an exemplar: snapshot, the id of its trace below the recorder's page
// (./snapshot/ID), and trace_id, where recorder.Options.TraceID says one. The value is what was lost, or how long the request
// took. Exemplars are part of the format OpenMetrics alone: set promhttp.HandlerOpts.EnableOpenMetrics, and start Prometheus
// with --enable-feature=exemplar-storage.
//
// Source: https://prometheus.io/docs/practices/naming/.
package prometheus
