// Package promgate exports what a gate of evenkeel.dev/gcgate does to Prometheus:
//
//	registry.MustRegister(promgate.New(gate))
//
// It has no sample of a figure that is not known, rather than a 0. docs/reference/metrics.md lists
// the metrics.
package promgate
