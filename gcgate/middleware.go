package gcgate

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Middleware counts the requests of next in and out, and speaks for the gate over HTTP
// (docs/reference/protocol.md):
//
//   - requests of GCI's header protocol are answered when [Options.GCIPeers] names the peer;
//   - probes of a [Transport] are answered with 204, and next never sees them;
//   - long streams ([Options.Stream]) go to next uncounted, so that no collection waits for them;
//   - while policy [Shed] is away, other requests get 503 with Retry-After, and next does not run;
//   - all others are counted while next runs, also when it panics. While an [InBand] signal
//     announces that this process is away, their answers carry Gcgate-Drain.
//
// Put it outermost, around the server's whole handler: a probe asks for "/", and what is in
// front of it is not counted. It adds no allocation to a request that is served while nobody
// is away. The handler may be called from any goroutine; wrapping several handlers with one
// gate is fine.
func (g *Gate) Middleware(next http.Handler) http.Handler {
	m := &middleware{
		next:      next,
		requests:  g.requests,
		stream:    g.options.Stream,
		refusing:  g.refusing,
		remaining: g.remaining,
		shed:      &g.shed,
	}
	if len(g.options.GCIPeers) > 0 {
		m.gci = &gci{
			peers:    g.options.GCIPeers,
			heap:     g.heap,
			collect:  g.Collect,
			expected: func() time.Duration { return g.Stats().Expected },
			limit:    &g.gci,
		}
	}
	for _, s := range g.options.Signals {
		if b, ok := s.(*InBand); ok {
			m.inBand = b
			break
		}
	}
	return m
}

// middleware is what it needs of a Gate, so that tests can stand in for one. Its fields do not
// change once it serves.
type middleware struct {
	next      http.Handler
	requests  *counter
	stream    func(*http.Request) bool
	refusing  func() bool          // policy Shed, and away
	remaining func() time.Duration // until back
	shed      *atomic.Uint64
	gci       *gci    // nil: off
	inBand    *InBand // nil: no such signal
}

// ServeHTTP implements [http.Handler].
func (m *middleware) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case m.gci != nil && m.gci.serves(r):
		m.gci.ServeHTTP(w, r)
	case isOne(r.Header, headerProbe):
		m.answerProbe(w, r)
	case m.stream(r):
		m.next.ServeHTTP(w, r)
	case m.refusing():
		m.refuse(w)
	default:
		t := m.requests.enter()
		defer t.Exit()
		if m.inBand != nil {
			if d := m.inBand.tell(r.RemoteAddr); d > 0 {
				w.Header().Set(headerDrain, formatMillis(d))
			}
		}
		m.next.ServeHTTP(w, r)
	}
}

// answerProbe tells a Transport that heard of an absence whether it is over.
func (m *middleware) answerProbe(w http.ResponseWriter, r *http.Request) {
	var d time.Duration
	if m.inBand != nil {
		d = m.inBand.answer(r.RemoteAddr)
	}
	if d == 0 && m.refusing() {
		d = max(m.remaining(), 1)
	}
	h := w.Header()
	if d > 0 {
		h.Set(headerDrain, formatMillis(d))
	}
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}

// refuse answers 503 and says when to come again. The connection stays open: the client, or the
// balancer in front, uses it when this process is back.
func (m *middleware) refuse(w http.ResponseWriter) {
	m.shed.Add(1)
	d := m.remaining()
	h := w.Header()
	h.Set("Retry-After", formatSeconds(d))
	h.Set(headerRetryAfter, formatMillis(d))
	h.Set(headerRefused, "1")
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write(refusal) // a client that has gone needs no answer
}

var refusal = []byte("collecting garbage: try another replica, or again after Retry-After\n")

// IsStream reports whether r asks for a long stream: a protocol upgrade (WebSocket), Server-Sent
// Events, or CONNECT (WebSocket over HTTP/2 too). To widen it, set [Options.Stream]:
//
//	Stream: func(r *http.Request) bool {
//		return gcgate.IsStream(r) || strings.HasPrefix(r.URL.Path, "/watch/")
//	}
func IsStream(r *http.Request) bool {
	return r.Method == http.MethodConnect ||
		len(r.Header["Upgrade"]) > 0 && lists(r.Header["Connection"], "upgrade") ||
		lists(r.Header["Accept"], "text/event-stream")
}

// lists reports whether the comma-separated values have item, in any case, whatever its parameters.
func lists(values []string, item string) bool {
	for _, v := range values {
		for v != "" {
			var part string
			part, v, _ = strings.Cut(v, ",")
			part, _, _ = strings.Cut(part, ";")
			if strings.EqualFold(strings.Trim(part, " \t"), item) {
				return true
			}
		}
	}
	return false
}
