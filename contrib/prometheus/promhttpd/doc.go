// Package promhttpd exports what a server of evenkeel.dev/httpd does to Prometheus:
//
//	registry.MustRegister(promhttpd.New(srv))
//
// # Metrics
//
// All of [httpd.Stats]. Counters begin with the first Serve of the http.Server.
//
//	evenkeel_httpd_connections
//	evenkeel_httpd_parked_connections                 of them, without a goroutine
//	evenkeel_httpd_hijacked_connections               of them
//	evenkeel_httpd_workers                            net/http's goroutines
//	evenkeel_httpd_queued_bytes                       memory of answers that wait to be sent
//	evenkeel_httpd_unread_bytes                       read, and not asked for
//	evenkeel_httpd_accepted_connections_total
//	evenkeel_httpd_accept_stalls_total  lack of descriptors or memory, or MaxConns
//	evenkeel_httpd_idle_timeouts_total                connections
//	evenkeel_httpd_refused_total{reason}  such as "header timeout" or "bad request"
package promhttpd
