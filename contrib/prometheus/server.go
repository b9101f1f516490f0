package prometheus

import (
	"net/http"

	prom "github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/httpd"
)

type serverStats = httpd.Stats

var serverFigures = []figure[serverStats]{
	gauge("evenkeel_httpd_connections", "Connections that are open.", func(s *serverStats) float64 { return float64(s.Conns) }),
	gauge("evenkeel_httpd_parked_connections", "Connections that are idle, or whose next header is under way, without a goroutine.", func(s *serverStats) float64 { return float64(s.Parked) }),
	gauge("evenkeel_httpd_hijacked_connections", "Connections that handlers took over.", func(s *serverStats) float64 { return float64(s.Hijacked) }),
	gauge("evenkeel_httpd_workers", "Goroutines of net/http that serve connections or wait for some.", func(s *serverStats) float64 { return float64(s.Workers) }),
	gauge("evenkeel_httpd_queued_bytes", "Memory of answers that wait to be sent.", func(s *serverStats) float64 { return float64(s.QueuedBytes) }),
	gauge("evenkeel_httpd_unread_bytes", "Bytes that were read and that nobody has asked for yet.", func(s *serverStats) float64 { return float64(s.UnreadBytes) }),
	counter("evenkeel_httpd_accepted_connections_total", "Connections that were accepted.", func(s *serverStats) float64 { return float64(s.Accepted) }),
	counter("evenkeel_httpd_accept_stalls_total", "How often a connection waited to be accepted, at a limit.", func(s *serverStats) float64 { return float64(s.AcceptStalls) }),
	counter("evenkeel_httpd_idle_timeouts_total", "Connections that were ended as they were idle for long.", func(s *serverStats) float64 { return float64(s.IdleTimeouts) }),
}

var refusedDesc = describe("evenkeel_httpd_refused_total", "Connections and requests that were refused.", "reason")

// serverCollector is the collector of a server. It has no state of its own.
type serverCollector struct {
	stats func() httpd.Stats
}

// NewServer returns a collector of all figures of [httpd.Stats], which each scrape reads once. It may be registered before srv is
// served. A process with several servers registers each under prometheus.WrapRegistererWith, with a label that tells them apart.
func NewServer(srv *http.Server) prom.Collector {
	return serverCollector{func() httpd.Stats { return httpd.StatsOf(srv) }}
}

// Describe is of prometheus.Collector.
func (c serverCollector) Describe(to chan<- *prom.Desc) {
	describeAll(serverFigures, to)
	to <- refusedDesc
}

// Collect is of prometheus.Collector.
func (c serverCollector) Collect(to chan<- prom.Metric) {
	s := c.stats()
	collect(serverFigures, &s, to)
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
