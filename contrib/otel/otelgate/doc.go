// Package otelgate exports what a gate of evenkeel.dev/gcgate does to OpenTelemetry:
//
//	registration, err := otelgate.Register(gate, nil)
//
// It has no point of a figure that is not known. docs/reference/metrics.md lists the metrics.
package otelgate
