// Package otel is the map of what exports to OpenTelemetry. It holds no API of its own. Each
// package below it exports one part of the toolkit, so that a service links only what it uses:
//
//   - [evenkeel.dev/contrib/otel/otelgate]: metrics of a gate of evenkeel.dev/gcgate.
//   - [evenkeel.dev/contrib/otel/otelrecorder]: metrics of a recorder of
//     evenkeel.dev/reqtrace/recorder, and a span for each slow request that says why it was slow.
package otel
