package client

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"evenkeel.dev/gcgate/internal/inband"
)

// TestRefusalIsOfOneHop: where a service behind a gateway refuses, the gateway is neither drained
// nor has it run no handler: its client must not send a POST to another gateway.
func TestRefusalIsOfOneHop(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(inband.HeaderRefused, "1")
		w.Header().Set(inband.HeaderRetryAfter, "500")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer service.Close()
	var ran atomic.Int32
	gateway := func() string {
		inner := &Transport{Targets: []string{service.URL}}
		t.Cleanup(func() { inner.Close() })
		proxy := &httputil.ReverseProxy{Transport: inner, Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "service"})
		}}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ran.Add(1)
			proxy.ServeHTTP(w, r)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	tr := &Transport{Targets: []string{gateway(), gateway()}}
	defer tr.Close()
	res, err := (&http.Client{Transport: tr}).Post("http://gateways/orders", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if n := ran.Load(); n != 1 || res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("status %d, and the gateways' handler ran %d times for one POST", res.StatusCode, n)
	}
	for _, g := range tr.pool.targets {
		if !g.serves() {
			t.Errorf("gateway %d is taken for drained", g.index)
		}
	}
}

// TestAnswerNamesTheService, not the replica that answered: a caller that follows the answer's URL
// must not go past the targets.
func TestAnswerNamesTheService(t *testing.T) {
	var asked atomic.Int32
	replica := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1); r.URL.Path == "/old" {
			w.Header().Set("Location", "/new?x=1")
			w.WriteHeader(http.StatusFound)
		}
	}))
	defer replica.Close()
	tr := &Transport{Targets: []string{replica.URL}}
	defer tr.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://service/old", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if to, err := res.Location(); err != nil || to.String() != "http://service/new?x=1" || res.Request != req {
		t.Errorf("it leads to %v, %v; the answer's request is %v", to, err, res.Request.URL)
	}
	res, err = (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got := res.Request.URL.String(); got != "http://service/new?x=1" || asked.Load() != 3 {
		t.Errorf("after a redirect the answer is of %s, and the replica was asked %d times", got, asked.Load())
	}
}
