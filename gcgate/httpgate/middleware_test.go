package httpgate

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/internal/inband"
)

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
		{"connection only", get("Connection", "Upgrade"), false},
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
	var h *handler
	h = newHandler(t, gcgate.Options{}, func(w http.ResponseWriter, r *http.Request) {
		want := 1
		if IsStream(r) {
			want = 0
		}
		if n, _ := h.m.gate.Requests(); n != want {
			t.Errorf("%d in flight, want %d", n, want)
		}
		if r.URL.Path == "/panic" {
			panic(http.ErrAbortHandler)
		}
	})
	serve(h, get())
	serve(h, get("Accept", "text/event-stream"))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not come through")
			}
		}()
		serve(h, httptest.NewRequest("GET", "/panic", nil))
	}()
	if n, entered := h.m.gate.Requests(); n != 0 || entered != 2 {
		t.Errorf("%d in flight, %d entered, want 0 and 2", n, entered)
	}
}

func TestMiddlewareRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		h := newRefusing(t, func(http.ResponseWriter, *http.Request) { ran++ })
		g := h.m.gate
		d := g.Remaining()
		resp := serve(h, httptest.NewRequest("POST", "/", strings.NewReader("x")))
		if resp.StatusCode != 503 || ran != 0 {
			t.Errorf("status %d, the handler ran %d times", resp.StatusCode, ran)
		}
		if d < 5*time.Second {
			t.Fatalf("%v are left of an absence of some 10 s", d)
		}
		for name, want := range map[string]string{
			"Retry-After": formatSeconds(d), "Gcgate-Retry-After-Ms": inband.FormatMillis(d),
			"Gcgate-Refused": "1", "Connection": "",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if body(resp) == "" {
			t.Error("no body")
		}
		if n, entered := g.Requests(); g.Stats().Refused != 1 || n != 0 || entered != 0 {
			t.Errorf("refused %d, in flight %d, entered %d, want 1, 0, 0", g.Stats().Refused, n, entered)
		}
		time.Sleep(20 * time.Second)
		if got := serve(h, get()).Header.Get("Retry-After"); got != "1" {
			t.Errorf("overdue: Retry-After %q, want 1", got)
		}
		if serve(h, get("Accept", "text/event-stream")); ran != 1 {
			t.Error("a stream was refused")
		}
	})
}

func TestFormatSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "1", 0: "1", 1: "1", time.Second: "1", time.Second + 1: "2", time.Hour: "600",
	} {
		if got := formatSeconds(d); got != want {
			t.Errorf("formatSeconds(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestRefusalKeepsConnection(t *testing.T) {
	s := httptest.NewServer(newRefusing(t, func(http.ResponseWriter, *http.Request) {}))
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
		if reused != (i == 1) || resp.StatusCode != 503 {
			t.Errorf("request %d: status %d, connection reused: %v", i, resp.StatusCode, reused)
		}
	}
}

func TestMiddlewareAnnounces(t *testing.T) {
	h := newHandler(t, gcgate.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = io.WriteString(w, "served")
	})
	b := withInBand(h)
	said := func(header ...string) (time.Duration, *http.Response) {
		resp := serve(h, get(header...))
		d, _ := inband.ParseMillis(resp.Header, inband.HeaderDrain)
		return d, resp
	}
	if d, _ := said(); d != 0 {
		t.Errorf("serving, it announced %v", d)
	}
	drain(t, b, time.Minute)
	if d, resp := said(); d <= 0 || d > time.Minute || resp.StatusCode != 200 {
		t.Errorf("drained, it announced %v with status %d", d, resp.StatusCode)
	}
	if d, resp := said(inband.HeaderProbe, "1"); d <= 0 || d > time.Minute || resp.StatusCode != 204 {
		t.Errorf("drained, a probe heard %v with status %d", d, resp.StatusCode)
	}
	if d, resp := said(inband.HeaderProbe, "0"); d <= 0 || resp.StatusCode != 200 {
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
	_, entered := h.m.gate.Requests()
	if d, resp := said(inband.HeaderProbe, "1"); d != 0 || resp.StatusCode != 204 {
		t.Errorf("back, a probe heard %v with status %d", d, resp.StatusCode)
	}
	if _, n := h.m.gate.Requests(); n != entered {
		t.Error("a probe was counted")
	}
}

func TestProbeOfRefusing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRefusing(t, func(http.ResponseWriter, *http.Request) { t.Error("the handler saw a probe") })
		want := inband.FormatMillis(h.m.gate.Remaining())
		resp := serve(h, get(inband.HeaderProbe, "1"))
		if got := resp.Header.Get(inband.HeaderDrain); got != want || resp.StatusCode != 204 {
			t.Errorf("heard %q with status %d, want %s and 204", got, resp.StatusCode, want)
		}
		if h.m.gate.Stats().Refused != 0 {
			t.Error("a probe was counted as refused")
		}
	})
}

func TestMiddlewareAllocates(t *testing.T) {
	h := newHandler(t, gcgate.Options{}, func(http.ResponseWriter, *http.Request) {})
	withInBand(h)
	r := get("Accept", "text/html, */*", "Connection", "keep-alive", "Upgrade", "h2c")
	w := httptest.NewRecorder()
	if n := testing.AllocsPerRun(1000, func() { h.ServeHTTP(w, r) }); n != 0 {
		t.Errorf("%v allocations a request, want 0", n)
	}
}

// TestNewFindsItsSignal among those of the gate, and takes no more of the options than it has.
func TestNewFindsItsSignal(t *testing.T) {
	b := &InBand{}
	g, _ := startGate(t, gcgate.Options{Signals: []gcgate.Signal{b}})
	if m := New(g, Options{}); m.inBand != b || m.stream == nil {
		t.Errorf("%+v", m)
	}
	if !b.Describe().SafeWithoutTurn {
		t.Error("clients use drained replicas if all are drained, so it needs no turn")
	}
}

// TestWrapWithoutAGate: a service can be run without one.
func TestWrapWithoutAGate(t *testing.T) {
	next := http.NewServeMux()
	if Wrap(nil, next) != http.Handler(next) {
		t.Error("it is wrapped")
	}
}

func BenchmarkMiddleware(b *testing.B) {
	h := newHandler(b, gcgate.Options{}, func(http.ResponseWriter, *http.Request) {})
	withInBand(h)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		r, w := get("Accept", "*/*"), httptest.NewRecorder()
		for pb.Next() {
			h.ServeHTTP(w, r)
		}
	})
}

// TestEnvoyFail: answers carry Envoy's header exactly while they are asked to, streams' answers
// too.
func TestEnvoyFail(t *testing.T) {
	g, _ := startGate(t, gcgate.Options{})
	var draining atomic.Bool
	m := New(g, Options{EnvoyFail: draining.Load})
	h := m.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, want := range []bool{false, true, false} {
		draining.Store(want)
		for _, r := range []*http.Request{get(), get("Accept", "text/event-stream")} {
			if got := serve(h, r).Header.Get("x-envoy-immediate-health-check-fail") != ""; got != want {
				t.Errorf("draining %v: the answer has the header: %v", want, got)
			}
		}
	}
	if serve(Wrap(g, h), get()).Header.Get("x-envoy-immediate-health-check-fail") != "" {
		t.Error("without the option there is the header")
	}
}

// TestEnvoyFailOfALateAnswer: a request that came during a drain does not take the process out when
// it is answered after that, however the answer begins; and its writer is as able as the server's.
func TestEnvoyFailOfALateAnswer(t *testing.T) {
	g, _ := startGate(t, gcgate.Options{})
	for name, begin := range map[string]func(http.ResponseWriter){
		"nothing":  func(http.ResponseWriter) {},
		"status":   func(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted) },
		"write":    func(w http.ResponseWriter) { _, _ = w.Write([]byte("x")) },
		"flush":    func(w http.ResponseWriter) { w.(http.Flusher).Flush() },
		"copy":     func(w http.ResponseWriter) { _, _ = io.Copy(w, strings.NewReader("x")) },
		"deadline": func(w http.ResponseWriter) { _ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) },
		"hijack": func(w http.ResponseWriter) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			c.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			var draining atomic.Bool
			m := New(g, Options{EnvoyFail: draining.Load})
			s := httptest.NewServer(m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusEarlyHints)
				draining.Store(false) // this process is back
				begin(w)
			})))
			defer s.Close()
			draining.Store(true)
			res, err := s.Client().Get(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if h := res.Header[headerEnvoyFail]; h != nil {
				t.Errorf("the answer carries %q", h)
			}
		})
	}
}
