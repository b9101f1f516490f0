// Package prometheus is the map of the collectors for github.com/prometheus/client_golang. It
// holds no API of its own. Each package below it exports one part of the toolkit, so that a service
// links only what it uses:
//
//   - [evenkeel.dev/contrib/prometheus/promgate]: a gate of evenkeel.dev/gcgate.
//   - [evenkeel.dev/contrib/prometheus/promrecorder]: a recorder of evenkeel.dev/reqtrace/recorder.
//   - [evenkeel.dev/contrib/prometheus/promaio]: a Watcher of evenkeel.dev/aio.
//   - [evenkeel.dev/contrib/prometheus/promhttpd]: a server of evenkeel.dev/httpd.
//
// The folder deploy/prometheus has alert rules and a dashboard. A test runs each of their
// expressions in a Prometheus server. Names follow https://prometheus.io/docs/practices/naming/.
package prometheus
