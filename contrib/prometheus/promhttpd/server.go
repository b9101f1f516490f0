package promhttpd

import (
	"net/http"

	prom "github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/contrib/prometheus/internal/figure"
	"evenkeel.dev/httpd"
)

var figures = []figure.Figure{
	figure.Gauge("evenkeel_httpd_connections", "Conns", "Connections that are open."),
	figure.Gauge("evenkeel_httpd_parked_connections", "Parked",
		"Connections that are idle, or whose next header is under way, without a goroutine."),
	figure.Gauge("evenkeel_httpd_hijacked_connections", "Hijacked", "Connections that handlers took over."),
	figure.Gauge("evenkeel_httpd_loops", "Reads", "Event loops that serve the connections."),
	figure.Gauge("evenkeel_httpd_workers", "Workers",
		"Goroutines of net/http that serve connections or wait for some."),
	figure.Gauge("evenkeel_httpd_queued_bytes", "QueuedBytes", "Memory of answers that wait to be sent."),
	figure.Gauge("evenkeel_httpd_unread_bytes", "UnreadBytes",
		"Bytes that were read and that no handler has asked for yet."),
	figure.Counter("evenkeel_httpd_accepted_connections_total", "Accepted", "Connections that were accepted."),
	figure.Counter("evenkeel_httpd_moved_connections_total", "Moved",
		"Moves of connections from a busy event loop to another."),
	figure.Counter("evenkeel_httpd_accept_stalls_total", "AcceptStalls",
		"How often a connection waited to be accepted, at a limit."),
	figure.Counter("evenkeel_httpd_idle_timeouts_total", "IdleTimeouts",
		"Connections that were closed because they were idle for long."),
}

var refusedDesc = figure.Describe("evenkeel_httpd_refused_total", "Connections and requests that were refused.",
	"reason")

// New returns a collector of [httpd.Stats], which each scrape reads once. Register it before or
// after Serve, and several servers by prometheus.WrapRegistererWith, with a label each. Set srv's
// fields before you register it, because [httpd.StatsOf] reads them.
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
		{"unsent", s.Unsent},
	} {
		to <- prom.MustNewConstMetric(refusedDesc, prom.CounterValue, float64(r.n), r.reason)
	}
}
