package loadgen

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/testutil"
)

// serve2 serves HTTP/2, and HTTP/1.1: h2c over plain TCP, or by ALPN over TLS.
func serve2(t testing.TB, h http.HandlerFunc, secure bool) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = secure
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetHTTP2(true)
	s.Config.Protocols.SetUnencryptedHTTP2(!secure)
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

func trust(s *httptest.Server) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return &tls.Config{RootCAs: pool}
}

func TestHTTP2CountsExactly(t *testing.T) {
	leaks.Test(t)
	var other atomic.Int64
	g := &gauge{}
	h := func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil || r.ProtoMajor != 2 || r.Header.Get("X-A") != "1" || r.Method == "PUT" &&
			len(b) != int(r.ContentLength) {
			other.Add(1)
		}
		g.ServeHTTP(w, r)
	}
	plain, secure := serve2(t, h, false), serve2(t, h, true)
	header := http.Header{"X-A": {"1"}}
	for name, o := range map[string]Options{
		"h2c":  {Protocol: ProtocolHTTP2, Targets: []Target{{URL: plain.URL + "/a?b=c", Header: header}}},
		"alpn": {Targets: []Target{{URL: secure.URL, Header: header}}, TLS: trust(secure)},
		"by name": {
			Protocol: ProtocolHTTP2, Targets: []Target{{URL: secure.URL, Header: header}},
			TLS: trust(secure),
		},
		"body": {
			Protocol: ProtocolHTTP2,
			Targets:  []Target{{URL: plain.URL, Method: "PUT", Body: []byte("hello"), Header: header}},
		},
		"big body": {
			Protocol: ProtocolHTTP2,
			Targets:  []Target{{URL: plain.URL, Method: "PUT", Body: append(big, big...), Header: header}},
		},
		"big head": {
			Protocol: ProtocolHTTP2,
			Targets: []Target{{
				URL:    plain.URL,
				Header: http.Header{"X-A": {"1"}, "X-B": {strings.Repeat("b", 50<<10)}},
			}},
		},
		"two hosts": {Protocol: ProtocolHTTP2, Targets: []Target{
			{URL: plain.URL, Header: header},
			{URL: secure.URL, Header: header},
		}, TLS: trust(secure)},
	} {
		for _, c := range []struct {
			rate                           float64
			requests, connections, streams int
		}{
			{0, 100, 3, 10}, {0, 7, 9, 1}, {0, 50, 1, 0}, {2000, 70, 2, 7}, {1e6, 70, 1, 5}, {1e6, 70, 4, 1},
		} {
			o.Rate, o.Requests, o.Connections, o.Streams = c.rate, c.requests, c.connections, c.streams
			g.served.Store(0)
			g.most.Store(0)
			if strings.HasPrefix(name, "big") {
				c.requests = (c.requests + 9) / 10
				o.Requests = c.requests
			}
			r := run(t, o)
			wantAll(t, r, int64(c.requests))
			hosts := int64(1)
			if name == "two hosts" {
				hosts = 2
			}
			atOnce := int64(c.connections * max(c.streams, 1))
			if g.served.Load() != r.Answered || g.most.Load() > atOnce || r.Connects > hosts*int64(c.connections) ||
				other.Load() != 0 {
				t.Errorf("%s %+v: served %d, %d at once over %d connections, %d otherwise", name, c, g.served.Load(),
					g.most.Load(), r.Connects, other.Load())
			}
			if r.Protocol != ProtocolHTTP2 || r.Streams != max(c.streams, 1) || r.Bytes != 2*r.Answered {
				t.Errorf("%s: %v, %d streams, %d bytes", name, r.Protocol, r.Streams, r.Bytes)
			}
		}
	}
}

// All streams of all connections are used, and no more, also where the server allows fewer.
func TestHTTP2KeepsStreamsBusy(t *testing.T) {
	for _, allowed := range []int{0, 3} {
		for _, rate := range []float64{0, 1e5} {
			want := int64(2 * 8)
			if allowed > 0 {
				want = int64(2 * allowed)
			}
			var here atomic.Int64
			all := make(chan struct{})
			g := &gauge{}
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if here.Add(1) == want {
					close(all)
				}
				<-all
				g.ServeHTTP(w, r)
			}))
			srv.Config.Protocols = new(http.Protocols)
			srv.Config.Protocols.SetUnencryptedHTTP2(true)
			srv.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: allowed}
			srv.Start()
			r := run(t, Options{
				Targets: []Target{{URL: srv.URL}}, Protocol: ProtocolHTTP2, Connections: 2, Streams: 8,
				Requests: 100, Rate: rate, Timeout: patience,
			})
			srv.Close()
			wantAll(t, r, 100)
			if g.most.Load() > want || r.Connects != 2 {
				t.Errorf("%d allowed, rate %v: %d at once over %d connections", allowed, rate, g.most.Load(),
					r.Connects)
			}
		}
	}
}

// As curl: HTTP/2 where all servers offer it, else HTTP/1.1.
func TestNegotiation(t *testing.T) {
	leaks.Test(t)
	var two, one atomic.Int64
	count := func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			two.Add(1)
		} else {
			one.Add(1)
		}
	}
	plain, secure := serve2(t, count, false), serve2(t, count, true)
	old := httptest.NewUnstartedServer(http.HandlerFunc(count))
	old.Config.ErrorLog = log.New(io.Discard, "", 0)
	old.StartTLS()
	defer old.Close()
	both := trust(secure)
	both.RootCAs.AddCert(old.Certificate())
	for name, c := range map[string]struct {
		o    Options
		want Protocol
	}{
		"offered":       {Options{Targets: []Target{{URL: secure.URL}}}, ProtocolHTTP2},
		"not offered":   {Options{Targets: []Target{{URL: old.URL}}}, ProtocolHTTP1},
		"by one of two": {Options{Targets: []Target{{URL: secure.URL}, {URL: old.URL}}}, ProtocolHTTP1},
		"without TLS":   {Options{Targets: []Target{{URL: plain.URL}}}, ProtocolHTTP1},
		"TLS for one":   {Options{Targets: []Target{{URL: secure.URL}, {URL: plain.URL}}}, ProtocolHTTP1},
		"not asked for": {Options{Targets: []Target{{URL: secure.URL}}, Protocol: ProtocolHTTP1}, ProtocolHTTP1},
		"no keep-alive": {Options{Targets: []Target{{URL: secure.URL}}, DisableKeepAlive: true}, ProtocolHTTP1},
		"old-time field": {
			Options{Targets: []Target{{URL: secure.URL, Header: http.Header{"Upgrade": {"x"}}}}},
			ProtocolHTTP1,
		},
		"h2c": {Options{Targets: []Target{{URL: plain.URL}}, Protocol: ProtocolHTTP2}, ProtocolHTTP2},
	} {
		one.Store(0)
		two.Store(0)
		c.o.TLS, c.o.Requests, c.o.Connections = both, 20, 2
		r := run(t, c.o)
		wantAll(t, r, 20)
		if r.Protocol != c.want || (two.Load() == 20) != (c.want == ProtocolHTTP2) || one.Load()+two.Load() != 20 {
			t.Errorf("%s: %v; %d by HTTP/1.1, %d by HTTP/2", name, r.Protocol, one.Load(), two.Load())
		}
	}
	// What is asked for and cannot be had is a failure of each request, and says so.
	for u, c := range map[string]Class{old.URL: ClassTLS, serve(t, count).URL: ClassProtocol} {
		r := run(t, Options{
			Targets: []Target{{URL: u}}, Protocol: ProtocolHTTP2, TLS: both, Requests: 3,
			Connections: 1,
		})
		if class(r, c) != 3 {
			t.Errorf("%s: %+v, want 3 of %s", u, r.Failures, c)
		}
	}
}

func TestHTTP2Timeout(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	leaks.Test(t)
	// One of the paths hangs: its requests time out, the others on the same connections do not.
	hang := make(chan struct{})
	defer close(hang)
	for _, rate := range []float64{0, 100} {
		for timeout := 2 * time.Second; ; timeout *= 4 {
			var n atomic.Int64 // of this attempt: a request of one before may come to its handler when that is over
			srv := serve2(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/hang" {
					n.Add(1)
					select {
					case <-hang:
					case <-r.Context().Done(): // the client's RST_STREAM
					}
					return
				}
				io.WriteString(w, "ok")
			}, false)
			r := run(t, Options{
				Targets: []Target{{URL: srv.URL}, {URL: srv.URL + "/hang"}}, Protocol: ProtocolHTTP2,
				Rate: rate, Requests: 20, Connections: 1, Streams: 20, Timeout: timeout,
			})
			hung := n.Load()
			if hung < 10 && timeout < patience/4 {
				continue // some timed out before they came to the server: a machine that stood still
			}
			if class(r, ClassTimeout) < 10 || hung != 10 || r.Requests() != 20 || r.Latency.Max() < timeout {
				t.Errorf("rate %v: %d hung, %d answered, %+v", rate, hung, r.Answered, r.Failures)
			}
			break
		}
	}
}

func TestHTTP2Cancelled(t *testing.T) {
	leaks.Test(t)
	hang := make(chan struct{})
	srv := serve2(t, func(http.ResponseWriter, *http.Request) { <-hang }, false)
	defer close(hang)
	for _, rate := range []float64{0, 200} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		r := runContext(t, ctx, Options{
			Targets: []Target{{URL: srv.URL}}, Protocol: ProtocolHTTP2, Streams: 5,
			Connections: 2, Rate: rate, Duration: time.Hour,
		})
		if !r.Interrupted || r.Answered+r.Failed != 0 {
			t.Errorf("rate %v: %+v", rate, r.Failures)
		}
	}
}

// Latency counts from the time due over HTTP/2, too.
func TestHTTP2CountsFromTheTimeDue(t *testing.T) {
	const stall = 300 * time.Millisecond
	var once sync.Once
	srv := serve2(t, func(http.ResponseWriter, *http.Request) { once.Do(func() { time.Sleep(stall) }) }, false)
	r := run(t, Options{
		Targets: []Target{{URL: srv.URL}}, Protocol: ProtocolHTTP2, Rate: 100, Requests: 60,
		Connections: 1,
	})
	wantAll(t, r, 60)
	for _, want := range []time.Duration{300, 290, 200, 100, 50} {
		want *= time.Millisecond
		q := 1 - float64(stall-want)/float64(10*time.Millisecond)/60
		if got := r.Latency.Quantile(q); got < want-5*time.Millisecond {
			t.Errorf("quantile %v is %v, want at least %v", q, got, want)
		}
	}
}

// The windows of an upload: the server takes 64 KiB at a time, and reads when it likes.
func TestHTTP2Uploads(t *testing.T) {
	body := []byte(strings.Repeat("0123456789abcdef", 1<<16)) // 1 MiB
	var wrong atomic.Int64
	srv := serve2(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil || string(b) != string(body) {
			wrong.Add(1)
		}
		w.Write(b)
	}, false)
	r := run(t, Options{
		Targets: []Target{{URL: srv.URL, Method: "POST", Body: body}}, Protocol: ProtocolHTTP2,
		Requests: 24, Connections: 2, Streams: 4, Timeout: patience,
	})
	wantAll(t, r, 24)
	if wrong.Load() != 0 || r.Bytes != 24<<20 {
		t.Errorf("%d bodies wrong, %d bytes back", wrong.Load(), r.Bytes)
	}
}

func TestHTTP2OptionErrors(t *testing.T) {
	for option, o := range map[string]Options{
		"Protocol":         {Protocol: "h3"},
		"Protocol ":        {Protocol: ProtocolHTTP1, Transport: instant{}},
		"DisableKeepAlive": {Protocol: ProtocolHTTP2, DisableKeepAlive: true},
		"Streams":          {Streams: -1},
		"Streams ":         {Streams: maxStreams + 1},
		"Streams  ":        {Streams: 2, Protocol: ProtocolHTTP1},
		"Streams   ":       {Streams: maxStreams, Connections: MaxConnections},
		"Targets[0]": {
			Protocol: ProtocolHTTP2,
			Targets:  []Target{{URL: "http://h", Header: http.Header{"keep-alive": {"1"}}}},
		},
	} {
		if o.Targets == nil {
			o.Targets = []Target{{URL: "http://h"}}
		}
		oe, ok := Check(o).(*evenkeel.OptionError)
		if !ok || oe.Option != strings.TrimSpace(option) {
			t.Errorf("%s: %v", option, oe)
		}
	}
}
