package httpgate

import (
	"net/http"
	"net/netip"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/internal/inband"
)

// Options configure a [Middleware]. The zero value works.
type Options struct {
	// Stream says which requests are long streams, which no collection waits for. It is called for
	// each request, from any goroutine. Default: nil, which is [IsStream].
	Stream func(*http.Request) bool

	// GCIPeers are the addresses that may use the protocol of the Garbage Collector Control
	// Interceptor. Default: none, the protocol is off.
	GCIPeers []netip.Prefix

	// EnvoyFail is asked for each request. While it returns true, answers carry the header
	// x-envoy-immediate-health-check-fail, at which Envoy takes this replica out (see
	// deploy/envoy). It must not block. Default: nil, no header.
	EnvoyFail func() bool
}

// A Middleware wraps handlers for one gate. Its methods may be called from any goroutine.
type Middleware struct {
	gate   *gcgate.Gate
	stream func(*http.Request) bool
	gci    *gci
	inBand *InBand

	envoyFail func() bool
}

// Wrap returns next with its requests counted by g, without options. It returns next itself if g is
// nil. Put it outermost, around the server's whole handler, because a client's probe asks for "/".
func Wrap(g *gcgate.Gate, next http.Handler) http.Handler {
	return newMiddleware(g, Options{}).Wrap(next)
}

// New returns a Middleware for g, or an [*evenkeel.OptionError]. Make one for all the handlers of a
// process.
func New(g *gcgate.Gate, o Options) (*Middleware, error) {
	for _, p := range o.GCIPeers {
		if !p.IsValid() {
			return nil, evenkeel.NewOptionError("httpgate.Options", "GCIPeers",
				"an entry is no valid prefix: use netip.MustParsePrefix(\"10.0.0.7/32\")")
		}
	}
	return newMiddleware(g, o), nil
}

func newMiddleware(g *gcgate.Gate, o Options) *Middleware {
	m := &Middleware{gate: g, stream: o.Stream, envoyFail: o.EnvoyFail}
	if m.stream == nil {
		m.stream = IsStream
	}
	if g == nil {
		return m
	}
	for _, s := range g.Signals() {
		if b, ok := s.(*InBand); ok {
			m.inBand = b
			break
		}
	}
	if len(o.GCIPeers) > 0 {
		m.gci = &gci{
			peers: o.GCIPeers, heap: g.Heap, collect: g.Collect,
			expected: func() time.Duration { return g.Stats().Expected },
		}
	}
	return m
}

// Wrap returns next with its requests counted; see [Wrap].
func (m *Middleware) Wrap(next http.Handler) http.Handler {
	if m.gate == nil {
		return next
	}
	return &handler{m, next}
}

type handler struct {
	m    *Middleware
	next http.Handler
}

// ServeHTTP implements [http.Handler].
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := h.m
	if m.envoyFail != nil && m.envoyFail() {
		f := &failWriter{ResponseWriter: w, draining: m.envoyFail}
		defer f.begin()
		w = f
	}
	switch {
	case m.gci != nil && m.gci.serves(r):
		m.gci.ServeHTTP(w, r)
	case inband.IsOne(r.Header, inband.HeaderProbe):
		m.answerProbe(w, r)
	case m.stream(r):
		h.next.ServeHTTP(w, r)
	case m.gate.Refusing():
		m.refuse(w)
	default:
		t := m.gate.Enter()
		defer t.Exit()
		if m.inBand != nil {
			if d := m.inBand.announce(r.RemoteAddr); d > 0 {
				w.Header().Set(inband.HeaderDrain, inband.FormatMillis(d))
			}
		}
		h.next.ServeHTTP(w, r)
	}
}

func (m *Middleware) answerProbe(w http.ResponseWriter, r *http.Request) {
	var d time.Duration
	if m.inBand != nil {
		d = m.inBand.answer(r.RemoteAddr)
	}
	if d == 0 && m.gate.Refusing() {
		d = max(m.gate.Remaining(), 1)
	}
	h := w.Header()
	if d > 0 {
		h.Set(inband.HeaderDrain, inband.FormatMillis(d))
	}
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}

func (m *Middleware) refuse(w http.ResponseWriter) {
	m.gate.CountRefused()
	d := m.gate.Remaining()
	h := w.Header()
	h.Set("Retry-After", formatSeconds(d))
	h.Set(inband.HeaderRetryAfter, inband.FormatMillis(d))
	h.Set(inband.HeaderRefused, "1")
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write(refusal)
}

var refusal = []byte("collecting garbage: try another replica, or again after Retry-After\n")
