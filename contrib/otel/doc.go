// Package otel lists the packages that export to OpenTelemetry, so that a service links only what
// it uses:
//
//   - [evenkeel.dev/contrib/otel/otelgate]: metrics of a gate of evenkeel.dev/gcgate.
//   - [evenkeel.dev/contrib/otel/otelrecorder]: metrics of a recorder of
//     evenkeel.dev/reqtrace/recorder, and a span for each slow request that says why it was slow.
package otel
