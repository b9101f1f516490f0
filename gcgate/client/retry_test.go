package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestTransportRefused(t *testing.T) {
	for _, tt := range []struct {
		name    string
		getBody bool
		status  int
	}{
		{"POST with GetBody", true, 200},
		{"POST that cannot be sent again", false, 503},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var bodies []string
			a := newReplica(t, nil)
			b := newReplica(t, func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				bodies = append(bodies, string(body))
			})
			a.refusing.Store(int64(time.Minute))
			tr := newTransport(t, b.URL, a.URL) // the first request goes to the second
			req, _ := http.NewRequest("POST", "http://service.test/", bytes.NewReader([]byte("pay 5")))
			if !tt.getBody {
				req.GetBody = nil
			}
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != tt.status || a.shed.Load() != 1 || a.served.Load() != 0 {
				t.Errorf("status %d, want %d; shed %d, served %d", resp.StatusCode, tt.status,
					a.shed.Load(), a.served.Load())
			}
			for range 5 { // no request came
				send(t, tr, "POST", "more")
			}
			if a.shed.Load() != 1 {
				t.Errorf("%d requests were refused, want 1", a.shed.Load())
			}
			if tt.getBody && (len(bodies) != 6 || bodies[0] != "pay 5") {
				t.Errorf("bodies that arrived: %q", bodies)
			}
		})
	}
}

func TestTransportAllRefuse(t *testing.T) {
	a, b := newReplica(t, nil), newReplica(t, nil)
	for _, r := range []*replica{a, b} {
		r.refusing.Store(int64(time.Minute))
	}
	tr := newTransport(t, a.URL, b.URL)
	if status := send(t, tr, "GET", ""); status != 503 {
		t.Errorf("status %d, want 503", status)
	}
	if a.shed.Load() != 1 || b.shed.Load() != 1 {
		t.Errorf("%d and %d attempts, want one to each target", a.shed.Load(), b.shed.Load())
	}
}

func TestTransportOther503(t *testing.T) {
	fails := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }
	a, b := newReplica(t, fails), newReplica(t, fails)
	tr := newTransport(t, a.URL, b.URL)
	if status := send(t, tr, "GET", ""); status != 503 || a.served.Load()+b.served.Load() != 1 {
		t.Errorf("status %d, %d attempts: a handler's own 503 must not be sent again", status,
			a.served.Load()+b.served.Load())
	}
}

// closing is a server that reads each request, and closes the connection without an answer.
func closing(t *testing.T) (url string, n *atomic.Int32) {
	n = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(s.Close)
	return s.URL, n
}

func TestTransportBrokenConnection(t *testing.T) {
	for _, tt := range []struct {
		method string
		key    string
		again  bool
	}{
		{"GET", "", true},
		{"HEAD", "", true},
		{"OPTIONS", "", true},
		{"PUT", "", true},
		{"DELETE", "", true},
		{"POST", "", false},
		{"PATCH", "", false},
		{"POST", "Idempotency-Key", true},
		{"POST", "X-Idempotency-Key", true},
	} {
		t.Run(tt.method+tt.key, func(t *testing.T) {
			url, n := closing(t)
			good := newReplica(t, nil)
			tr := newTransport(t, good.URL, url)
			req, _ := http.NewRequest(tt.method, "http://service.test/", strings.NewReader("x"))
			if tt.key != "" {
				req.Header.Set(tt.key, "1")
			}
			resp, err := tr.RoundTrip(req)
			if err == nil {
				resp.Body.Close()
			}
			if (err == nil) != tt.again || n.Load() != 1 || (good.served.Load() == 1) != tt.again {
				t.Errorf("error %v; the target that closes saw it %d times, the other one %d", err,
					n.Load(), good.served.Load())
			}
		})
	}
}

// refusedURL is the URL of a port on which nothing listens: one that was free a moment ago may be
// somebody's by now.
const refusedURL = "http://127.0.0.1:1"

func TestTransportDeadTarget(t *testing.T) {
	good := newReplica(t, nil)
	tr := newTransport(t, good.URL, refusedURL)
	for range 50 {
		if status := send(t, tr, "POST", "x"); status != 200 {
			t.Fatalf("status %d", status)
		}
	}
	if good.served.Load() != 50 {
		t.Errorf("%d served, want 50", good.served.Load())
	}
	single := newTransport(t, refusedURL)
	for range 2 { // there is no other
		req, _ := http.NewRequest("GET", "http://service.test/", nil)
		if _, err := single.RoundTrip(req); !isDial(err) {
			t.Errorf("got %v, want an error of dialing", err)
		}
	}
}

func TestTransportCancelled(t *testing.T) {
	blocked := make(chan struct{}, 1)
	hold := func(_ http.ResponseWriter, r *http.Request) {
		blocked <- struct{}{}
		<-r.Context().Done()
	}
	a, b := newReplica(t, hold), newReplica(t, hold)
	tr := newTransport(t, a.URL, b.URL)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-blocked; cancel() }()
	req, _ := http.NewRequestWithContext(ctx, "GET", "http://service.test/", nil)
	if _, err := tr.RoundTrip(req); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want canceled", err)
	}
	if n := a.served.Load() + b.served.Load(); n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
}

// TestNoRetryAfterCancel: an attempt that fails when the caller has given up is the last.
func TestNoRetryAfterCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	fails := func(*http.Request) (*http.Response, error) {
		n++
		cancel()
		return noDial()
	}
	tr := &Transport{Targets: []string{"http://a", "http://b"}, Base: fakeBase{"a": fails, "b": fails}}
	req, _ := http.NewRequestWithContext(ctx, "GET", "http://service.test/", nil)
	if _, err := tr.RoundTrip(req); err == nil || n != 1 {
		t.Errorf("error %v after %d attempts, want 1", err, n)
	}
	if tr.pool.targets[0].out.Load() != 0 || tr.pool.targets[1].out.Load() != 0 {
		t.Error("the target was left out for the caller's cancellation")
	}
}
