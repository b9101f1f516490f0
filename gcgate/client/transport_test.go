package client

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/gcgate/internal/inband"
	"evenkeel.dev/internal/leaks"
)

// replica is a server on the loopback that speaks the service's side of the protocol, and counts
// what its handler served. A test of httpgate has the real gate on that side.
type replica struct {
	*httptest.Server
	next      http.HandlerFunc
	served    atomic.Int32
	probed    atomic.Int32
	shed      atomic.Int32
	until     atomic.Int64 // when it is back, Unix time in ns; 0: it is not drained
	refusing  atomic.Int64 // for how long yet, as its refusals say; 0: it does not refuse
	announced atomic.Bool  // an answer has said that it is drained
	seen      atomic.Bool  // a probe has heard that it is back
}

func newReplica(t *testing.T, next http.HandlerFunc) *replica {
	r := &replica{next: next}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Server.Close)
	return r
}

func (r *replica) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	d := time.Duration(0)
	if until := r.until.Load(); until != 0 {
		d = max(time.Until(time.Unix(0, until)), 1)
		r.announced.Store(true)
	}
	refusing := time.Duration(r.refusing.Load())
	switch {
	case isProbe(req):
		defer r.probed.Add(1)
		if d == 0 {
			r.seen.Store(true)
			d = refusing
		}
		if d > 0 {
			w.Header().Set(inband.HeaderDrain, inband.FormatMillis(d))
		}
		w.WriteHeader(http.StatusNoContent)
	case refusing > 0:
		r.shed.Add(1)
		w.Header().Set(inband.HeaderRefused, "1")
		w.Header().Set(inband.HeaderRetryAfter, inband.FormatMillis(refusing))
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		r.served.Add(1)
		if d > 0 {
			w.Header().Set(inband.HeaderDrain, inband.FormatMillis(d))
		}
		if r.next != nil {
			r.next(w, req)
		}
	}
}

// drain announces an absence, and waits until no request comes any more.
func (r *replica) drain(t *testing.T, d time.Duration) {
	t.Helper()
	r.announced.Store(false)
	r.until.Store(time.Now().Add(d).UnixNano())
	last := int32(-1)
	eventually(t, "no request comes to a drained replica", func() bool {
		n := r.served.Load() + r.shed.Load()
		quiet := n == last
		last = n
		return quiet
	})
}

// ready ends the announcement, and waits until a probe has heard it, if there was one.
func (r *replica) ready(t *testing.T) {
	t.Helper()
	r.seen.Store(false)
	r.until.Store(0)
	if r.announced.Load() {
		eventually(t, "a probe hears that a replica is back", r.seen.Load)
	}
}

func TestMain(m *testing.M) { leaks.Main(m) }

// newTransport returns one for the replicas, closed at the end; no goroutine may be left then.
func newTransport(t *testing.T, urls ...string) *Transport {
	leaks.Test(t)
	tr := &Transport{Targets: urls}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
		for _, g := range tr.pool.targets {
			if g.stop != nil || g.drained.Load() != 0 {
				t.Errorf("target %d is watched after Close", g.index)
			}
		}
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return tr
}

// send does one request by tr and returns its status.
func send(t *testing.T, tr *Transport, method, body string) int {
	t.Helper()
	req, err := http.NewRequest(method, "http://service.test/path?q", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	if resp.Header.Get(inband.HeaderDrain) != "" {
		t.Error("the announcement went on to the caller")
	}
	return resp.StatusCode
}

// eventually waits until ok holds; it gives up after a minute at least.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 60_000 {
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("never: %s", what)
}

func TestTransportTargets(t *testing.T) {
	for _, tt := range []struct {
		name string
		urls []string
		want string // in the error
	}{
		{"none", nil, "Transport.Targets is empty: set"},
		{"too many", make([]string, 1025), "at most 1024"},
		{"no scheme", []string{"127.0.0.1:80"}, "Targets[0]"},
		{"other scheme", []string{"http://a", "ftp://a"}, "Targets[1]"},
		{"no host", []string{"http://"}, "not a base URL"},
		{"path", []string{"http://a/b"}, "not a base URL"},
		{"query", []string{"http://a?b"}, "not a base URL"},
		{"user", []string{"http://u:secret@a"}, "not a base URL"},
	} {
		body := &closeCounter{}
		req, _ := http.NewRequest("POST", "http://service.test/", body)
		tr := Transport{Targets: tt.urls}
		_, err := tr.RoundTrip(req)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
		if body.n.Load() != 1 {
			t.Errorf("%s: body closed %d times, want once", tt.name, body.n.Load())
		}
		tr.CloseIdleConnections()
		if err := tr.Close(); err != nil {
			t.Errorf("%s: Close: %v", tt.name, err)
		}
	}
}

type closeCounter struct{ n atomic.Int32 }

func (*closeCounter) Read([]byte) (int, error) { return 0, io.EOF }
func (c *closeCounter) Close() error           { c.n.Add(1); return nil }

func TestTransportRewrites(t *testing.T) {
	var got *http.Request
	r := newReplica(t, func(_ http.ResponseWriter, req *http.Request) { got = req })
	tr := newTransport(t, r.URL+"/")
	for _, tt := range []struct{ url, host, want string }{
		{"https://service.test/a/b?c=d", "", "service.test"},
		{"http://service.test/a/b?c=d", "other.test", "other.test"},
		{"/a/b?c=d", "", strings.TrimPrefix(r.URL, "http://")},
	} {
		req, err := http.NewRequest("GET", tt.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.host != "" {
			req.Host = tt.host
		}
		before := fmt.Sprintf("%+v %+v", req, req.URL)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if after := fmt.Sprintf("%+v %+v", req, req.URL); after != before {
			t.Errorf("the caller's request changed:\n%s\n%s", before, after)
		}
		if got.Host != tt.want || got.URL.RequestURI() != "/a/b?c=d" {
			t.Errorf("%s arrived as %s of %q, want host %q", tt.url, got.URL, got.Host, tt.want)
		}
	}
}

func TestTransportMovesOnAndReturns(t *testing.T) {
	a, b := newReplica(t, nil), newReplica(t, nil)
	tr := newTransport(t, a.URL, b.URL)
	for range 10 {
		send(t, tr, "GET", "")
	}
	if a.served.Load() != 5 || b.served.Load() != 5 {
		t.Errorf("%d and %d served, want 5 each", a.served.Load(), b.served.Load())
	}

	a.drain(t, 50*time.Millisecond) // an estimate that is too short
	eventually(t, "a request hears of it", func() bool {
		send(t, tr, "GET", "")
		return a.announced.Load()
	})
	heard, probed := a.served.Load(), a.probed.Load()
	eventually(t, "the time announced passes, and probes find out", func() bool {
		send(t, tr, "POST", "x")
		return a.probed.Load() >= probed+5
	})
	if n := a.served.Load(); n != heard {
		t.Errorf("%d requests went to a drained replica", n-heard)
	}

	a.ready(t)
	eventually(t, "requests come again", func() bool {
		send(t, tr, "GET", "")
		return a.served.Load() > heard
	})
}

func TestTransportAllDrained(t *testing.T) {
	a, b := newReplica(t, nil), newReplica(t, nil)
	tr := newTransport(t, a.URL, b.URL)
	a.drain(t, time.Minute)
	b.drain(t, 30*time.Second)
	for range 2 {
		send(t, tr, "GET", "")
	}
	if a.served.Load() != 1 || b.served.Load() != 1 {
		t.Fatalf("%d and %d served, want 1 each", a.served.Load(), b.served.Load())
	}
	for range 10 {
		send(t, tr, "GET", "")
	}
	if a.served.Load() != 1 || b.served.Load() != 11 {
		t.Errorf("%d and %d served, want 1 and 11: b is back sooner", a.served.Load(), b.served.Load())
	}
}

func TestTransportClosed(t *testing.T) {
	a := newReplica(t, nil)
	tr := newTransport(t, a.URL)
	a.drain(t, time.Minute)
	send(t, tr, "GET", "")
	for range 2 {
		if err := tr.Close(); err != nil { // while it waits to probe
			t.Error(err)
		}
	}
	body := &closeCounter{}
	req, _ := http.NewRequest("POST", "http://service.test/", body)
	if _, err := tr.RoundTrip(req); !errors.Is(err, net.ErrClosed) || body.n.Load() != 1 {
		t.Errorf("got %v, body closed %d times", err, body.n.Load())
	}
}

// TestTransportConcurrent has many clients, three replicas of which one after the other goes
// drained, refuses and comes back, and wants every request answered once.
func TestTransportConcurrent(t *testing.T) {
	var total atomic.Int32
	count := func(w http.ResponseWriter, r *http.Request) {
		total.Add(1)
		_, _ = io.Copy(w, r.Body)
	}
	replicas := []*replica{newReplica(t, count), newReplica(t, count), newReplica(t, count)}
	var urls []string
	for _, r := range replicas {
		urls = append(urls, r.URL)
	}
	tr := newTransport(t, urls...)
	client := &http.Client{Transport: tr}
	var wg sync.WaitGroup
	var sent atomic.Int32
	stop := make(chan struct{})
	for i := range 8 {
		wg.Go(func() {
			for j := 0; ; j++ {
				select {
				case <-stop:
					return
				default:
				}
				want := fmt.Sprintf("%d-%d", i, j)
				sent.Add(1)
				resp, err := client.Post("http://service.test/", "text/plain", strings.NewReader(want))
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || string(got) != want || resp.StatusCode != 200 {
					t.Errorf("sent %q, got %d %q, %v", want, resp.StatusCode, got, err)
				}
			}
		})
	}
	for round := range 6 {
		r := replicas[round%3]
		r.drain(t, 10*time.Millisecond)
		if round%2 == 1 {
			r.refusing.Store(int64(5 * time.Millisecond))
		}
		was := total.Load()
		eventually(t, "requests go on during the collection", func() bool { return total.Load() > was+20 })
		r.refusing.Store(0)
		r.ready(t)
	}
	close(stop)
	wg.Wait()
	if total.Load() != sent.Load() {
		t.Errorf("%d requests sent, %d ran", sent.Load(), total.Load())
	}
}

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
