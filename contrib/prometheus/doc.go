// Package prometheus lists the collectors for github.com/prometheus/client_golang, so that a
// service links only what it uses:
//
//   - [evenkeel.dev/contrib/prometheus/promgate]: a gate of evenkeel.dev/gcgate.
//   - [evenkeel.dev/contrib/prometheus/promrecorder]: a recorder of evenkeel.dev/reqtrace/recorder.
//   - [evenkeel.dev/contrib/prometheus/promaio]: a Watcher of evenkeel.dev/aio.
//   - [evenkeel.dev/contrib/prometheus/promhttpd]: a server of evenkeel.dev/httpd.
//
// The folder deploy/prometheus has alert rules and a dashboard.
package prometheus
