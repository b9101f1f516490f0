package promhttpd

import (
	"net/http"

	prom "github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/contrib/prometheus/internal/figure"
	"evenkeel.dev/httpd"
)

var figures = []figure.Figure[httpd.Stats]{
	figure.Gauge("evenkeel_httpd_connections", "Connections that are open.",
		func(s *httpd.Stats) float64 { return float64(s.Conns) }),
	figure.Gauge("evenkeel_httpd_parked_connections",
		"Connections that are idle, or whose next header is under way, without a goroutine.",
		func(s *httpd.Stats) float64 { return float64(s.Parked) }),
	figure.Gauge("evenkeel_httpd_hijacked_connections", "Connections that handlers took over.",
		func(s *httpd.Stats) float64 { return float64(s.Hijacked) }),
	figure.Gauge("evenkeel_httpd_loops", "Event loops that serve the connections.",
		func(s *httpd.Stats) float64 { return float64(len(s.Reads)) }),
	figure.Gauge("evenkeel_httpd_workers", "Goroutines of net/http that serve connections or wait for some.",
		func(s *httpd.Stats) float64 { return float64(s.Workers) }),
	figure.Gauge("evenkeel_httpd_queued_bytes", "Memory of answers that wait to be sent.",
		func(s *httpd.Stats) float64 { return float64(s.QueuedBytes) }),
	figure.Gauge("evenkeel_httpd_unread_bytes", "Bytes that were read and that no handler has asked for yet.",
		func(s *httpd.Stats) float64 { return float64(s.UnreadBytes) }),
	figure.Counter("evenkeel_httpd_accepted_connections_total", "Connections that were accepted.",
		func(s *httpd.Stats) float64 { return float64(s.Accepted) }),
	figure.Counter("evenkeel_httpd_moved_connections_total",
		"Moves of connections from a busy event loop to another.",
		func(s *httpd.Stats) float64 { return float64(s.Moved) }),
	figure.Counter("evenkeel_httpd_accept_stalls_total", "How often a connection waited to be accepted, at a limit.",
		func(s *httpd.Stats) float64 { return float64(s.AcceptStalls) }),
	figure.Counter("evenkeel_httpd_idle_timeouts_total",
		"Connections that were closed because they were idle for long.",
		func(s *httpd.Stats) float64 { return float64(s.IdleTimeouts) }),
}

var refusedDesc = figure.Describe("evenkeel_httpd_refused_total", "Connections and requests that were refused.",
	"reason")

// New returns a collector of [httpd.Stats], which each scrape reads once. Register it before or
// after Serve, and several servers by prometheus.WrapRegistererWith, with a label each.
func New(srv *http.Server) prom.Collector {
	return newCollector(func() httpd.Stats { return httpd.StatsOf(srv) })
}

func newCollector(stats func() httpd.Stats) prom.Collector {
	return &figure.Collector[httpd.Stats]{
		Stats: stats, Figures: figures, Put: put,
		Others: []*prom.Desc{refusedDesc},
	}
}

func put(s *httpd.Stats, to chan<- prom.Metric) {
	for _, r := range []struct {
		reason string
		n      uint64
	}{
		{"header timeout", s.HeaderTimeouts},
		{"handshake", s.Handshakes},
		{"bad request", s.BadRequests},
		{"unattached", s.Unattached},
		{"unsent", s.Unsent},
	} {
		to <- prom.MustNewConstMetric(refusedDesc, prom.CounterValue, float64(r.n), r.reason)
	}
}
