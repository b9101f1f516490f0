package httpd

import (
	"net/http"
	"slices"
	"weak"
)

// Stats says what the Serves of an http.Server have now, and counts what they did. It is of
// connections that have a descriptor.
type Stats struct {
	Conns       int   // that are open
	Parked      int   // of them, those that are idle, or whose next header is under way: without a goroutine
	Hijacked    int   // of them, those that Hijack gave away and that are aio's still: by Parkable
	Workers     int   // goroutines of net/http that serve the others, or wait for something to serve
	QueuedBytes int64 // memory of answers that wait to be sent
	UnreadBytes int64 // memory of what was read and nobody has asked for yet

	Accepted uint64 // connections
	// how often no more were accepted: at Options.MaxConns, or, each 10 ms, where one waited for
	// lack of descriptors or memory
	AcceptStalls uint64
	IdleTimeouts uint64 // connections that were ended after http.Server.IdleTimeout

	// What was refused, by why.
	HeaderTimeouts uint64 // connections whose handshake or header was not there within http.Server.ReadHeaderTimeout
	Handshakes     uint64 // connections whose handshake of TLS failed
	// requests that net/http has refused: malformed or ambiguous, with too large a header, or
	// Expect of something else; and OPTIONS * on a connection that ends, which it answers by itself
	BadRequests uint64
	Unattached  uint64 // connections that the system did not let be taken
	// connections that ended, and whose peer took nothing of the rest of an answer for 30 s, or not
	// all of it within http.Server.WriteTimeout
	Unsent uint64
}

// StatsOf returns the statistics of all Serves of srv together, since the first began; of none that
// is still to begin, or where aio has no backend, all are zero. It may be called at any time, and
// by any goroutine.
func StatsOf(srv *http.Server) Stats {
	wrapping.Lock()
	defer wrapping.Unlock()
	r := accounts[weak.Make(srv)]
	if r == nil {
		return Stats{}
	}
	all := r.past
	if r.hooks != nil {
		for _, s := range r.hooks.serving {
			all.add(s.stats())
		}
	}
	return all
}

// begins has s counted.
func (h *hooks) begins(s *server) {
	wrapping.Lock()
	defer wrapping.Unlock()
	h.serving = append(h.serving, s)
}

// ends keeps what s has counted, and restores the server's fields after the last Serve.
func (h *hooks) ends(s *server) {
	wrapping.Lock()
	defer wrapping.Unlock()
	h.serving = slices.DeleteFunc(h.serving, func(other *server) bool { return other == s })
	last := s.stats()
	last.Conns, last.Parked, last.Hijacked, last.Workers, last.QueuedBytes, last.UnreadBytes = 0, 0, 0, 0, 0, 0
	h.account.past.add(last)
	h.serves--
	h.unwrap()
}

// stats returns what s has and has counted.
func (s *server) stats() Stats {
	stalls := s.watcher.Stats().AcceptStalls
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.counts
	n.Conns, n.Parked, n.Hijacked, n.Workers = s.conns.open, s.parked.n, s.conns.hijacked, s.work.count
	n.QueuedBytes, n.UnreadBytes = int64(s.bytes.queued), int64(s.bytes.unread)
	n.AcceptStalls += stalls
	return n
}

func (a *Stats) add(b Stats) {
	a.Conns += b.Conns
	a.Parked += b.Parked
	a.Hijacked += b.Hijacked
	a.Workers += b.Workers
	a.QueuedBytes += b.QueuedBytes
	a.UnreadBytes += b.UnreadBytes
	a.Accepted += b.Accepted
	a.AcceptStalls += b.AcceptStalls
	a.IdleTimeouts += b.IdleTimeouts
	a.HeaderTimeouts += b.HeaderTimeouts
	a.Handshakes += b.Handshakes
	a.BadRequests += b.BadRequests
	a.Unattached += b.Unattached
	a.Unsent += b.Unsent
}
