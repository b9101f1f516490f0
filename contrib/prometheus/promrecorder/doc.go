// Package promrecorder exports what a recorder of evenkeel.dev/reqtrace/recorder finds to
// Prometheus:
//
//	slow, err := promrecorder.New(rec, promrecorder.Options{})
//	registry.MustRegister(slow)
//	o := promhttp.HandlerOpts{EnableOpenMetrics: true}
//	http.Handle("/metrics", promhttp.HandlerFor(registry, o))
//
// A figure that is not known has no sample, rather than a 0, such as a threshold that is not chosen
// yet.
//
// # Metrics
//
// All of [recorder.Stats], and the slow requests that the recorder has explained since [New], by
// cause and class. These need recorder.Options.InProcess or Analyze.
//
//	evenkeel_recorder_start_timestamp_seconds
//	evenkeel_recorder_recording
//	evenkeel_recorder_threshold_seconds
//	evenkeel_recorder_window_seconds
//	evenkeel_recorder_window_bytes
//	evenkeel_recorder_passed_seconds_total
//	evenkeel_recorder_covered_seconds_total
//	evenkeel_recorder_off_seconds_total
//	evenkeel_recorder_requests_total
//	evenkeel_recorder_slow_requests_total
//	evenkeel_recorder_kept_requests_total
//	evenkeel_recorder_explained_requests_total{cause,class}
//	evenkeel_recorder_lost_seconds_total{cause,class}
//	evenkeel_recorder_new_causes_total
//	evenkeel_recorder_snapshots_total
//	evenkeel_recorder_analyzed_snapshots_total
//	evenkeel_recorder_failed_snapshots_total{reason}
//	evenkeel_recorder_process_cpu_seconds_total
//	evenkeel_recorder_cpu_seconds_total{part}
//	evenkeel_recorder_tracing_cpu_within_seconds
//	evenkeel_recorder_cpu_budget_seconds_total
//
// # Cardinality
//
// There are 16 causes, and [Options].MaxClasses classes. Later classes share the class "(others)".
//
// # Exemplars
//
// A sample with a cause carries the last such request as an exemplar. Its label snapshot is the id
// of a trace below the recorder's page (./snapshot/ID). Its label trace_id needs
// recorder.Options.TraceID. Set promhttp.HandlerOpts.EnableOpenMetrics, and start Prometheus with
// --enable-feature=exemplar-storage.
package promrecorder
