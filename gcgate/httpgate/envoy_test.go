package httpgate

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/gcgate"
)

// TestEnvoyFail: answers carry Envoy's header exactly while they are asked to, streams' answers
// too.
func TestEnvoyFail(t *testing.T) {
	g, _ := startGate(t, gcgate.Options{})
	var draining atomic.Bool
	m, err := New(g, Options{EnvoyFail: draining.Load})
	if err != nil {
		t.Fatal(err)
	}
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
			m, err := New(g, Options{EnvoyFail: draining.Load})
			if err != nil {
				t.Fatal(err)
			}
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
