// Package promrecorder exports what a recorder of evenkeel.dev/reqtrace/recorder finds to
// Prometheus:
//
//	registry.MustRegister(promrecorder.New(rec))
//	o := promhttp.HandlerOpts{EnableOpenMetrics: true}
//	http.Handle("/metrics", promhttp.HandlerFor(registry, o))
//
// It has no sample of a figure that is not known, rather than a 0. Causes and classes need
// recorder.Options.InProcess. docs/reference/metrics.md lists the metrics.
//
// # Cardinality
//
// There are 16 causes, and 64 classes. Later classes share the class "(others)".
//
// # Exemplars
//
// A sample with a cause carries the last such request as an exemplar. Its label snapshot is the id
// of a trace below the recorder's page (./snapshot/ID). Its label trace_id needs
// recorder.Options.TraceID. Set promhttp.HandlerOpts.EnableOpenMetrics, and start Prometheus with
// --enable-feature=exemplar-storage.
package promrecorder
