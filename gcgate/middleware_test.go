package gcgate

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// newMiddleware returns one that stands for a gate that serves; tests change its fields.
func newMiddleware(next http.HandlerFunc) *middleware {
	return &middleware{
		next: next, requests: newCounter(), stream: IsStream, shed: new(atomic.Uint64),
		refusing:  func() bool { return false },
		remaining: func() time.Duration { return 0 },
	}
}

// withInBand gives m an in-band signal, attached.
func withInBand(m *middleware) *InBand {
	m.inBand = &InBand{QuietFor: time.Millisecond}
	m.inBand.Attach(&Gate{requests: m.requests})
	return m.inBand
}

// drain announces an absence to whoever calls from now on.
func drain(t *testing.T, b *InBand, expected time.Duration) {
	t.Helper()
	if err := b.Drain(t.Context(), expected); err != nil {
		t.Fatal(err)
	}
}

func serve(h http.Handler, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func get(header ...string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func TestIsStream(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    *http.Request
		want bool
	}{
		{"plain", get(), false},
		{"websocket", get("Upgrade", "websocket", "Connection", "Upgrade"), true},
		{"upgrade in a list", get("Upgrade", "websocket", "Connection", "keep-alive, upgrade"), true},
		{"upgrade in a second line", get("Upgrade", "x", "Connection", "keep-alive", "Connection", "upgrade"), true},
		{"upgrade that is not asked for", get("Upgrade", "h2c"), false},
		{"connection alone", get("Connection", "Upgrade"), false},
		{"connection of another name", get("Upgrade", "x", "Connection", "upgrades"), false},
		{"event stream", get("Accept", "text/event-stream"), true},
		{"event stream in a list", get("Accept", "text/html, Text/Event-Stream;q=0.9"), true},
		{"other media type", get("Accept", "text/event-streams, */*"), false},
		{"connect", httptest.NewRequest("CONNECT", "host:80", nil), true},
	} {
		if got := IsStream(tt.r); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

func TestMiddlewareCounts(t *testing.T) {
	var m *middleware
	m = newMiddleware(func(w http.ResponseWriter, r *http.Request) {
		want := 1
		if IsStream(r) {
			want = 0
		}
		if n, _ := m.requests.read(); n != want {
			t.Errorf("%d in flight, want %d", n, want)
		}
		if r.URL.Path == "/panic" {
			panic(http.ErrAbortHandler)
		}
	})
	serve(m, get())
	serve(m, get("Accept", "text/event-stream"))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not come through")
			}
		}()
		serve(m, httptest.NewRequest("GET", "/panic", nil))
	}()
	if n, entered := m.requests.read(); n != 0 || entered != 2 {
		t.Errorf("%d in flight, %d entered, want 0 and 2", n, entered)
	}
}

func TestMiddlewareRefuses(t *testing.T) {
	ran := 0
	m := newMiddleware(func(http.ResponseWriter, *http.Request) { ran++ })
	m.refusing = func() bool { return true }
	m.remaining = func() time.Duration { return 1200*time.Millisecond + 1 }
	resp := serve(m, httptest.NewRequest("POST", "/", strings.NewReader("x")))
	if resp.StatusCode != 503 || ran != 0 {
		t.Errorf("status %d, the handler ran %d times", resp.StatusCode, ran)
	}
	for name, want := range map[string]string{
		"Retry-After": "2", "Gcgate-Retry-After-Ms": "1201", "Gcgate-Refused": "1", "Connection": "",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if body, _ := io.ReadAll(resp.Body); len(body) == 0 {
		t.Error("no body")
	}
	if n, entered := m.requests.read(); m.shed.Load() != 1 || n != 0 || entered != 0 {
		t.Errorf("shed %d, in flight %d, entered %d, want 1, 0, 0", m.shed.Load(), n, entered)
	}
	m.remaining = func() time.Duration { return 0 }
	if got := serve(m, get()).Header.Get("Retry-After"); got != "1" {
		t.Errorf("overdue: Retry-After %q, want 1", got)
	}
	if serve(m, get("Accept", "text/event-stream")); ran != 1 {
		t.Error("a stream was refused")
	}
}

func TestRefusalKeepsConnection(t *testing.T) {
	m := newMiddleware(func(http.ResponseWriter, *http.Request) {})
	m.refusing = func() bool { return true }
	s := httptest.NewServer(m)
	defer s.Close()
	for i := range 2 {
		reused := false
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused },
		})
		req, _ := http.NewRequestWithContext(ctx, "POST", s.URL, strings.NewReader("body"))
		resp, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if reused != (i == 1) {
			t.Errorf("request %d: connection reused: %v", i, reused)
		}
	}
}

func TestMiddlewareAnnounces(t *testing.T) {
	m := newMiddleware(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") })
	b := withInBand(m)
	said := func(h ...string) (time.Duration, *http.Response) {
		resp := serve(m, get(h...))
		d, _ := parseMillis(resp.Header, headerDrain)
		return d, resp
	}
	if d, _ := said(); d != 0 {
		t.Errorf("serving, it announced %v", d)
	}
	drain(t, b, time.Minute)
	if d, resp := said(); d <= 0 || d > time.Minute || resp.StatusCode != 200 {
		t.Errorf("away, it announced %v with status %d", d, resp.StatusCode)
	}
	if d, resp := said(headerProbe, "1"); d <= 0 || d > time.Minute || resp.StatusCode != 204 {
		t.Errorf("away, a probe heard %v with status %d", d, resp.StatusCode)
	}
	if d, resp := said(headerProbe, "0"); d <= 0 || resp.StatusCode != 200 {
		t.Errorf("no probe: %v with status %d", d, resp.StatusCode)
	}
	drain(t, b, -time.Second)
	if d, _ := said(); d != time.Millisecond {
		t.Errorf("overdue, it announced %v, want 1ms", d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = b.Ready(ctx)
	if d, _ := said(); d != 0 {
		t.Errorf("back, it announced %v", d)
	}
	_, entered := m.requests.read()
	if d, resp := said(headerProbe, "1"); d != 0 || resp.StatusCode != 204 {
		t.Errorf("back, a probe heard %v with status %d", d, resp.StatusCode)
	}
	if _, n := m.requests.read(); n != entered {
		t.Error("a probe was counted")
	}
}

func TestProbeOfRefusing(t *testing.T) {
	m := newMiddleware(func(http.ResponseWriter, *http.Request) { t.Error("the handler saw a probe") })
	m.refusing = func() bool { return true }
	m.remaining = func() time.Duration { return 30 * time.Millisecond }
	resp := serve(m, get(headerProbe, "1"))
	if got := resp.Header.Get(headerDrain); got != "30" || resp.StatusCode != 204 {
		t.Errorf("heard %q with status %d, want 30 and 204", got, resp.StatusCode)
	}
	if m.shed.Load() != 0 {
		t.Error("a probe was counted as shed")
	}
}

func TestMiddlewareAllocates(t *testing.T) {
	m := newMiddleware(func(http.ResponseWriter, *http.Request) {})
	withInBand(m)
	m.gci = &gci{limit: new(gciLimit)}
	r := get("Accept", "text/html, */*", "Connection", "keep-alive", "Upgrade", "h2c")
	w := httptest.NewRecorder()
	if n := testing.AllocsPerRun(1000, func() { m.ServeHTTP(w, r) }); n != 0 {
		t.Errorf("%v allocations a request, want 0", n)
	}
}

func TestGateMiddleware(t *testing.T) {
	b := &InBand{}
	m := (&Gate{
		options:  Options{Stream: IsStream, Signals: []Signal{b}},
		requests: newCounter(),
	}).Middleware(http.NotFoundHandler()).(*middleware)
	if m.inBand != b || m.gci != nil || m.stream == nil || m.requests == nil || m.shed == nil {
		t.Errorf("not wired: %+v", m)
	}
}

func BenchmarkMiddleware(b *testing.B) {
	m := newMiddleware(func(http.ResponseWriter, *http.Request) {})
	withInBand(m)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		r, w := get("Accept", "*/*"), httptest.NewRecorder()
		for pb.Next() {
			m.ServeHTTP(w, r)
		}
	})
}
