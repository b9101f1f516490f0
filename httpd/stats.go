package httpd

import (
	"net/http"
	"slices"
)

// Stats describes the connections that aio has, of all Serves of an http.Server.
type Stats struct {
	Conns       int   // open
	Parked      int   // idle, or in the middle of a header, without a goroutine
	Hijacked    int   // hijacked by Parkable, and still in aio
	Workers     int   // net/http's goroutines for all other connections, and spare ones
	QueuedBytes int64 // memory of queued answers
	UnreadBytes int64 // memory of bytes that no handler has read

	Reads []uint64 // by event loop. See Options.Loops

	Accepted uint64 // connections
	Moved    uint64 // moves of connections from a busy loop to another
	// pauses of accepting at Options.MaxConns, and every 10 ms while descriptors or memory are
	// missing
	AcceptStalls uint64
	IdleTimeouts uint64 // connections ended by http.Server.IdleTimeout

	// Refused, by reason.
	HeaderTimeouts uint64 // connections without a handshake or header within http.Server.ReadHeaderTimeout
	Handshakes     uint64 // failed TLS handshakes
	// malformed, ambiguous or too large, and OPTIONS * on a connection that ends
	BadRequests uint64
	// connections whose peer took nothing of an answer for 30 s, or not all within
	// http.Server.WriteTimeout
	Unsent uint64
}

// StatsOf returns the statistics of all Serves of srv since the first began. They are zero before
// that, if net/http serves alone (see [Serve]), and if srv is nil. Any goroutine may call it when
// srv's fields are set.
func StatsOf(srv *http.Server) Stats {
	if srv == nil {
		return Stats{}
	}
	wrapping.Lock()
	defer wrapping.Unlock()
	h := hooksOf(srv)
	if h == nil {
		return Stats{}
	}
	all := h.past
	for _, s := range h.serving {
		all.add(s.stats())
	}
	return all
}

// endServe keeps the counters of s.
func (h *hooks) endServe(s *server) {
	wrapping.Lock()
	defer wrapping.Unlock()
	h.serving = slices.DeleteFunc(h.serving, func(other *server) bool { return other == s })
	last := s.stats()
	last.Conns, last.Parked, last.Hijacked, last.Workers = 0, 0, 0, 0
	last.QueuedBytes, last.UnreadBytes, last.Reads = 0, 0, nil
	h.past.add(last)
}

func (s *server) stats() Stats {
	s.mu.Lock()
	loops, all := s.loops, s.counts
	all.Conns, all.Hijacked = s.open, s.hijacked
	s.mu.Unlock()
	for _, l := range loops {
		all.add(l.stats())
	}
	return all
}

func (l *loop) stats() Stats {
	stalls := l.watcher.Stats().AcceptStalls
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.counts
	n.Reads, n.Parked, n.Workers = []uint64{l.relief.reads}, l.parked.n, l.work.count
	n.QueuedBytes, n.UnreadBytes = int64(l.bytes.queued), int64(l.bytes.unread)
	n.AcceptStalls += stalls
	return n
}

func (a *Stats) add(b Stats) {
	a.Conns += b.Conns
	a.Reads = append(a.Reads, b.Reads...)
	a.Parked += b.Parked
	a.Hijacked += b.Hijacked
	a.Workers += b.Workers
	a.QueuedBytes += b.QueuedBytes
	a.UnreadBytes += b.UnreadBytes
	a.Accepted += b.Accepted
	a.Moved += b.Moved
	a.AcceptStalls += b.AcceptStalls
	a.IdleTimeouts += b.IdleTimeouts
	a.HeaderTimeouts += b.HeaderTimeouts
	a.Handshakes += b.Handshakes
	a.BadRequests += b.BadRequests
	a.Unsent += b.Unsent
}
