package loadgen

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func answerOK(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") }

// refuse is a Transport that fails at once.
type refuse struct{}

func (refuse) RoundTrip(*http.Request) (*http.Response, error) { return nil, io.EOF }

// gauge is a handler that knows how many requests it had, and how many at once at most.
type gauge struct {
	served, now, most atomic.Int64
	work              time.Duration
}

func (g *gauge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := g.now.Add(1)
	defer g.now.Add(-1)
	g.served.Add(1)
	for most := g.most.Load(); n > most && !g.most.CompareAndSwap(most, n); most = g.most.Load() {
	}
	time.Sleep(g.work)
	io.WriteString(w, "ok")
}

func TestClosedLoopCountsExactly(t *testing.T) {
	for _, c := range []struct{ requests, connections int }{{1, 50}, {7, 3}, {500, 1}, {1000, 16}, {0, 0}} {
		g := &gauge{}
		srv := serve(t, g.ServeHTTP)
		r := run(t, Options{Targets: []Target{{URL: srv.URL}}, Requests: c.requests, Connections: c.connections})
		want, most := int64(c.requests), int64(c.connections)
		if want == 0 {
			want, most = 200, 50
		}
		wantAll(t, r, want)
		if g.served.Load() != want || r.Bytes != 2*want {
			t.Errorf("%+v: served %d, %d bytes", c, g.served.Load(), r.Bytes)
		}
		if g.most.Load() > most || r.Connects > min(most, want) || int64(r.Connections) != most {
			t.Errorf("%+v: %d at once over %d connections", c, g.most.Load(), r.Connects)
		}
		if r.Service.Count() != 0 || r.Late != 0 || r.Rate != 0 {
			t.Errorf("figures of the open loop: %+v", r)
		}
	}
}

func TestClosedLoopKeepsConnectionsBusy(t *testing.T) {
	// None is answered before eight are there.
	var here atomic.Int64
	all := make(chan struct{})
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if here.Add(1) == 8 {
			close(all)
		}
		<-all
		io.WriteString(w, "ok")
	})
	r := run(t, Options{Targets: []Target{{URL: srv.URL}}, Requests: 64, Connections: 8, Timeout: patience})
	wantAll(t, r, 64)
	if r.Connects != 8 {
		t.Errorf("%d connections, want 8", r.Connects)
	}
}

func TestClosedLoopDuration(t *testing.T) {
	g := &gauge{work: time.Millisecond}
	srv := serve(t, g.ServeHTTP)
	began := time.Now()
	r := run(t, Options{Targets: []Target{{URL: srv.URL}}, Duration: 200 * time.Millisecond, Connections: 4})
	wantAll(t, r, g.served.Load())
	if d := time.Since(began); d < 200*time.Millisecond || r.Answered == 0 {
		t.Errorf("%d answers in %v", r.Answered, d)
	}
	// Whichever bound comes first.
	r = run(t, Options{Targets: []Target{{URL: srv.URL}}, Duration: time.Hour, Requests: 10, Connections: 4})
	wantAll(t, r, 10)
}

func TestWarmup(t *testing.T) {
	for _, rate := range []float64{0, 500} {
		g := &gauge{work: time.Millisecond}
		srv := serve(t, g.ServeHTTP)
		var calls int
		var warm, inFlight int64
		r := run(t, Options{
			Targets: []Target{{URL: srv.URL}}, Warmup: 100 * time.Millisecond, Requests: 40, Connections: 4, Rate: rate,
			OnMeasure: func() {
				calls++
				warm = g.served.Load()
				inFlight = waitNone(&g.now)
			},
		})
		wantAll(t, r, 40)
		if calls != 1 || warm == 0 || inFlight != 0 || g.served.Load() != warm+40 {
			t.Errorf("rate %v: OnMeasure %d times with %d in flight; served %d, %d of them before",
				rate, calls, inFlight, g.served.Load(), warm)
		}
		if r.Connects > 4 || r.Warmup != 100*time.Millisecond {
			t.Errorf("rate %v: %d connections, warm-up %v", rate, r.Connects, r.Warmup)
		}
		if rate > 0 && warm != 50 {
			t.Errorf("rate %v: %d requests of warm-up, want 50", rate, warm)
		}
	}
}

// waitNone gives handlers whose answers have arrived the time to return.
func waitNone(n *atomic.Int64) int64 {
	for end := time.Now().Add(patience); n.Load() != 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return n.Load()
}

func TestTargetsInTurn(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	count := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.Method+" "+r.Host+r.URL.Path]++
		io.WriteString(w, "ok")
	}
	one, two := serve(t, count), serve(t, count)
	a, b := strings.TrimPrefix(one.URL, "http://"), strings.TrimPrefix(two.URL, "http://")
	for _, o := range []Options{
		{},
		{Rate: 3000},
		{Transport: &http.Transport{}},
		{Transport: &http.Transport{}, Rate: 3000},
	} {
		clear(seen)
		o.Targets = []Target{{URL: one.URL + "/x"}, {URL: two.URL + "/y"}, {URL: one.URL + "/z", Method: "PUT"}}
		o.Requests, o.Connections = 90, 5
		r := run(t, o)
		wantAll(t, r, 90)
		for _, k := range []string{"GET " + a + "/x", "GET " + b + "/y", "PUT " + a + "/z"} {
			if seen[k] != 30 {
				t.Errorf("rate %v: %s: %d of %v, want 30", o.Rate, k, seen[k], seen)
			}
		}
		if o.Transport != nil {
			o.Transport.(*http.Transport).CloseIdleConnections()
			if r.Connects != 0 {
				t.Errorf("Connects %d with a Transport", r.Connects)
			}
		} else if r.Connects > 2*5 {
			t.Errorf("%d connections, want at most 5 to each of 2 hosts", r.Connects)
		}
	}
}

func TestRequestsAsTheServerSeesThem(t *testing.T) {
	body := strings.Repeat("0123456789", 30<<10)
	var bad atomic.Pointer[string]
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if err != nil || string(got) != body || r.Method != "POST" || r.Host != "service.example" ||
			r.RequestURI != "/p?q=1" ||
			r.Header.Get("X-One") != "1" || r.UserAgent() != "mine" || r.ContentLength != int64(len(body)) {
			s := fmt.Sprintf("%v, %d bytes, %s %s %s %v", err, len(got), r.Method, r.Host, r.RequestURI, r.Header)
			bad.Store(&s)
		}
		io.WriteString(w, "ok")
	})
	for _, o := range []Options{{}, {Rate: 1000}, {Transport: srv.Client().Transport}, {DisableKeepAlive: true}} {
		o.Targets = []Target{{
			Method: "POST", URL: srv.URL + "/p?q=1#f", Body: []byte(body),
			Header: http.Header{"host": {"service.example"}, "x-one": {"1"}, "User-Agent": {"mine"}},
		}}
		o.Requests, o.Connections = 20, 3
		wantAll(t, run(t, o), 20)
		if s := bad.Load(); s != nil {
			t.Errorf("rate %v: %s", o.Rate, *s)
		}
	}
}

func TestDisableKeepAlive(t *testing.T) {
	for _, rate := range []float64{0, 2000} {
		var kept atomic.Int64
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if !r.Close {
				kept.Add(1)
			}
		})
		r := run(t, Options{
			Targets: []Target{{URL: srv.URL}}, Requests: 30, Connections: 3, DisableKeepAlive: true,
			Rate: rate,
		})
		wantAll(t, r, 30)
		if r.Connects != 30 || kept.Load() != 0 {
			t.Errorf("rate %v: %d connections; %d requests without Connection: close", rate, r.Connects, kept.Load())
		}
	}
}

// A server may close a connection with each answer, or behind some answers without a word.
func TestServerCloses(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer string
		keep   int // answers before the connection is closed
		method string
		failed bool
	}{
		{"said so", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", 1, "POST", false},
		{"by 1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 1, "POST", false},
		{"is the end of the body", "HTTP/1.1 200 OK\r\n\r\nok", 1, "POST", false},
		{"silently, GET", okAnswer, 1, "GET", false},
		{"silently after 4, GET", okAnswer, 4, "GET", false},
		{"silently after 4, POST", okAnswer, 4, "POST", true},
	} {
		for _, rate := range []float64{0, 2000} {
			var served atomic.Int64
			addr := serveRaw(t, func(conn *net.TCPConn, br *bufio.Reader) {
				for range c.keep {
					if !skipRequest(br) {
						return
					}
					served.Add(1)
					io.WriteString(conn, c.answer)
				}
			})
			r := run(t, Options{
				Targets: []Target{{Method: c.method, URL: "http://" + addr}}, Requests: 40,
				Connections: 2, Rate: rate,
			})
			if !c.failed {
				wantAll(t, r, 40)
			}
			if r.Requests() != 40 || served.Load() != r.Answered ||
				class(r, ClassClosed)+class(r, ClassReset) != r.Failed {
				t.Errorf("%s, rate %v: %d answered, %d failed %v; served %d", c.name, rate, r.Answered, r.Failed,
					r.Failures, served.Load())
			}
			// The closed loop sends on a connection at once, so a POST meets each that is dying,
			// unless the news came before it.
			if min := int64(40 / c.keep); !c.failed && r.Connects < min {
				t.Errorf("%s, rate %v: %d connections, want %d or more", c.name, rate, r.Connects, min)
			}
		}
	}
}

func TestTLS(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(answerOK))
	defer srv.Close()
	srv.Config.ErrorLog = discardLog
	trusting := srv.Client().Transport.(*http.Transport).TLSClientConfig
	for _, rate := range []float64{0, 1000} {
		o := Options{Targets: []Target{{URL: srv.URL}}, Requests: 30, Connections: 3, Rate: rate, TLS: trusting}
		r := run(t, o)
		wantAll(t, r, 30)
		if r.Connects > 3 {
			t.Errorf("%d connections", r.Connects)
		}
		o.TLS, o.Requests = nil, 6 // handshakes of RSA
		if r = run(t, o); class(r, ClassTLS) != 6 {
			t.Errorf("unknown authority: %+v", r.Failures)
		}
		o.TLS, o.Transport = nil, &http.Transport{}
		if r = run(t, o); class(r, ClassTLS) != 6 {
			t.Errorf("unknown authority to a Transport: %+v", r.Failures)
		}
	}
}

var discardLog = log.New(io.Discard, "", 0)
