package httpgate

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/internal/inband"
)

// Options configure a [Middleware]. The zero value works.
type Options struct {
	// Stream says which requests are long streams, which are not counted. Any goroutine may call
	// it. Default: nil, which is [IsStream].
	Stream func(*http.Request) bool

	// EnvoyFail is asked for each request. While it returns true, answers carry the header
	// x-envoy-immediate-health-check-fail, at which Envoy takes this replica out (deploy/envoy). It
	// must not block. Default: nil, no header.
	EnvoyFail func() bool
}

// A Middleware wraps handlers for one gate. Any goroutine may call its methods.
type Middleware struct {
	gate   *gcgate.Gate
	stream func(*http.Request) bool
	inBand *InBand

	envoyFail func() bool
}

// Wrap returns next with its requests counted by g, or next itself if g is nil. Put it outermost,
// because a client's probe asks for "/".
func Wrap(g *gcgate.Gate, next http.Handler) http.Handler {
	return New(g, Options{}).Wrap(next)
}

// New returns a Middleware for g. Make one for all handlers.
func New(g *gcgate.Gate, o Options) *Middleware {
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
	return m
}

// Wrap returns next with its requests counted, as [Wrap] does.
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

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := h.m
	if m.envoyFail != nil && m.envoyFail() {
		f := &failWriter{ResponseWriter: w, draining: m.envoyFail}
		defer f.begin()
		w = f
	}
	switch {
	case inband.IsOne(r.Header, inband.HeaderProbe):
		m.answerProbe(w)
	case m.stream(r):
		h.next.ServeHTTP(w, r)
	case m.gate.Refusing():
		m.refuse(w)
	default:
		t := m.gate.Enter()
		defer t.Exit()
		if m.inBand != nil {
			if d := m.inBand.announce(); d > 0 {
				w.Header().Set(inband.HeaderDrain, inband.FormatMillis(d))
			}
		}
		h.next.ServeHTTP(w, r)
	}
}

func (m *Middleware) answerProbe(w http.ResponseWriter) {
	var d time.Duration
	if m.inBand != nil {
		d = m.inBand.answer()
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

// formatSeconds rounds up, to at least 1, for Retry-After.
func formatSeconds(d time.Duration) string {
	d = min(max(d, 1), inband.MaxDrain)
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

var refusal = []byte("collecting garbage: try another replica, or again after Retry-After\n")

// IsStream reports whether r asks for a protocol upgrade (WebSocket), Server-Sent Events, or
// CONNECT. To widen it, set [Options].Stream:
//
//	Stream: func(r *http.Request) bool {
//		return httpgate.IsStream(r) || strings.HasPrefix(r.URL.Path, "/watch/")
//	}
func IsStream(r *http.Request) bool {
	return r.Method == http.MethodConnect ||
		len(r.Header["Upgrade"]) > 0 && lists(r.Header["Connection"], "upgrade") ||
		lists(r.Header["Accept"], "text/event-stream")
}

// lists reports whether comma-separated values have item, in any case and with any parameters.
func lists(values []string, item string) bool {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			part, _, _ = strings.Cut(part, ";")
			if strings.EqualFold(strings.Trim(part, " \t"), item) {
				return true
			}
		}
	}
	return false
}

// Envoy's HTTP router filter takes any value.
const headerEnvoyFail = "X-Envoy-Immediate-Health-Check-Fail"

// failWriter adds headerEnvoyFail to an answer that begins while this process drains. A later
// answer must not take the process out again.
type failWriter struct {
	http.ResponseWriter
	draining func() bool
	begun    bool
}

func (w *failWriter) begin() {
	switch {
	case w.begun:
	case w.draining():
		w.Header().Set(headerEnvoyFail, "1")
	default:
		w.Header().Del(headerEnvoyFail)
	}
	w.begun = true
}

func (w *failWriter) WriteHeader(status int) {
	w.begin()
	w.begun = status >= 200 || status == http.StatusSwitchingProtocols
	w.ResponseWriter.WriteHeader(status)
}

func (w *failWriter) Write(b []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(b)
}

func (w *failWriter) ReadFrom(r io.Reader) (int64, error) {
	w.begin()
	return io.Copy(w.ResponseWriter, r)
}

func (w *failWriter) FlushError() error {
	w.begin()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *failWriter) Flush() { _ = w.FlushError() }

func (w *failWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// Unwrap is for http.ResponseController.
func (w *failWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
