// Package promhttpd exports what a server of evenkeel.dev/httpd does to Prometheus:
//
//	registry.MustRegister(promhttpd.New(srv))
//
// docs/reference/metrics.md lists the metrics.
package promhttpd
