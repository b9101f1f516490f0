// Package promhttpd exports what a server of evenkeel.dev/httpd does to Prometheus:
//
//	registry.MustRegister(promhttpd.New(srv))
//
// # Metrics
//
// All of [httpd.Stats]. Counters begin with the first Serve of the http.Server.
//
//	evenkeel_httpd_connections
//	evenkeel_httpd_parked_connections
//	evenkeel_httpd_hijacked_connections
//	evenkeel_httpd_workers
//	evenkeel_httpd_queued_bytes
//	evenkeel_httpd_unread_bytes
//	evenkeel_httpd_accepted_connections_total
//	evenkeel_httpd_accept_stalls_total
//	evenkeel_httpd_idle_timeouts_total
//	evenkeel_httpd_refused_total{reason}
package promhttpd
