// Package promaio exports what a Watcher of evenkeel.dev/aio does to Prometheus:
//
//	registry.MustRegister(promaio.New(watcher))
//
// docs/reference/metrics.md lists the metrics.
package promaio
