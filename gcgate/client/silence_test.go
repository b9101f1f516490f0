package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// deadline is of requests in virtual time.
const deadline = 100 * time.Millisecond

// hang lets a request run into its deadline.
func hang(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// after is a handler that takes so long.
func after(d time.Duration) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		select {
		case <-time.After(d):
			return answer(200)
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// ask sends one request, which has the deadline, and reports whether it was answered.
func ask(t *testing.T, tr *Transport, path string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", "http://service.test/"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		return false
	}
	resp.Body.Close()
	return true
}

// TestSilentTarget: one that answers nothing any more is left out after three timeouts, tried as
// one that cannot be dialed, and used again when it answers.
func TestSilentTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent, begin := false, time.Now()
		var at []int // requests to it while it is silent, in ms
		tr := &Transport{Targets: []string{"http://b", "http://a"}, Base: fakeBase{
			"a": func(r *http.Request) (*http.Response, error) {
				if !silent {
					return answer(200)
				}
				at = append(at, int(time.Since(begin).Milliseconds()))
				return hang(r)
			},
			"b": after(time.Millisecond),
		}}
		for range 10 {
			ask(t, tr, "")
		}
		silent, begin = true, time.Now()
		for time.Since(begin) < 10*time.Second {
			ask(t, tr, "")
		}
		// Three, each with the deadline and one of b in between, and then after 100 ms, doubling up
		// to 2 s, of which each takes the deadline.
		if want := "[0 101 202 402 702 1202 2102 3802 5902 8002]"; fmt.Sprint(at) != want {
			t.Errorf("sent at %v, want %s", at, want)
		}
		silent = false
		time.Sleep(maxOut)
		answered := 0
		for range 10 {
			if ask(t, tr, "") {
				answered++
			}
		}
		if answered != 10 || !tr.pool.targets[1].serves() {
			t.Errorf("back again, %d of 10 are answered", answered)
		}
	})
}

// slow is a timeout without the method Temporary of net.Error.
type slow struct{ error }

func (slow) Timeout() bool { return true }

func TestIsTimeout(t *testing.T) {
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://service.test/", nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := errors.New("the connection has ended")
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("read: %w", slow{ended}), true},
		{os.ErrDeadlineExceeded, true},
		{context.DeadlineExceeded, true},
		{context.Canceled, false},
		{ended, false},
	} {
		if got := isTimeout(req, tt.err); got != tt.want {
			t.Errorf("%v: %v", tt.err, got)
		}
	}
}

// TestManyTimeOut: requests that were under way when a target fell silent leave it out once.
func TestManyTimeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{
			Targets: []string{"http://a", "http://b"},
			Base:    fakeBase{"a": hang, "b": after(time.Millisecond)},
		}
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() { ask(t, tr, "") })
			time.Sleep(2 * time.Millisecond)
		}
		all.Wait()
		if n := tr.pool.targets[0].fails.Load(); n != 1 {
			t.Errorf("left out %d times", n)
		}
	})
}

// TestSlowHandlers: timeouts do not leave out a target that answers other requests, nor one of a
// service that is slow as a whole.
func TestSlowHandlers(t *testing.T) {
	slow := after(time.Hour)
	someAfter := func(d time.Duration) func(*http.Request) (*http.Response, error) {
		fast := after(d)
		return func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/slow" {
				return slow(r)
			}
			return fast(r)
		}
	}
	some := someAfter(5 * time.Millisecond)
	for _, c := range []struct {
		name string
		a    func(*http.Request) (*http.Response, error)
		send func(t *testing.T, tr *Transport)
	}{
		{"one after the other", some, func(t *testing.T, tr *Transport) {
			for range 20 {
				for range 2 { // in a row, at each of two targets
					ask(t, tr, "slow")
					ask(t, tr, "slow")
				}
				ask(t, tr, "fast")
				ask(t, tr, "fast")
			}
		}},
		{"many at once", some, func(t *testing.T, tr *Transport) {
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() { ask(t, tr, "slow") })
			}
			time.Sleep(deadline / 2)
			ask(t, tr, "fast")
			ask(t, tr, "fast")
			all.Wait()
		}},
		{"all are slow", slow, func(t *testing.T, tr *Transport) {
			for range 50 {
				ask(t, tr, "slow")
			}
		}},
		// a's last answers come after b's
		{"all fall silent", someAfter(40 * time.Millisecond), func(t *testing.T, tr *Transport) {
			var all sync.WaitGroup
			for i := range 80 {
				path := "fast"
				if i >= 30 {
					path = "slow"
				}
				all.Go(func() { ask(t, tr, path) })
				time.Sleep(time.Millisecond)
			}
			all.Wait()
		}},
		{"cancelled", some, func(t *testing.T, tr *Transport) {
			for range 20 {
				ask(t, tr, "fast")
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(deadline, cancel)
				req, _ := http.NewRequestWithContext(ctx, "GET", "http://service.test/slow", nil)
				if _, err := tr.RoundTrip(req); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := &Transport{Targets: []string{"http://a", "http://b"}, Base: fakeBase{"a": c.a, "b": some}}
				c.send(t, tr)
				for _, g := range tr.pool.targets {
					if !g.serves() {
						t.Errorf("target %d is left out", g.index)
					}
				}
			})
		})
	}
}

// front is a proxy in front of a target, which stops as a machine does that vanishes: connections
// stay open, and nothing comes by them.
type front struct {
	net.Listener
	to      string
	stopped atomic.Bool
	dialed  atomic.Int32 // connections
	closed  atomic.Int32 // by the client, of those from before it stopped
}

func newFront(t *testing.T, to string) *front {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &front{Listener: ln, to: to}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			f.dialed.Add(1)
			early := !f.stopped.Load()
			serving.Go(func() {
				f.forward(c)
				if early {
					f.closed.Add(1)
				}
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		serving.Wait()
	})
	return f
}

// forward ends when the client closes its connection.
func (f *front) forward(c net.Conn) {
	defer c.Close()
	target, err := net.Dial("tcp", f.to)
	if err != nil {
		return
	}
	defer target.Close()
	go func() { // until target is closed
		_, _ = io.Copy(gated{c, f}, target)
	}()
	_, _ = io.Copy(gated{target, f}, c)
}

// gated drops what is written once the front has stopped.
type gated struct {
	io.Writer
	f *front
}

func (g gated) Write(b []byte) (int, error) {
	if g.f.stopped.Load() {
		return len(b), nil
	}
	return g.Writer.Write(b)
}

// TestVanishedMachine: the target is left out for requests that time out, its idle connections,
// which are many, are closed, and it is used again when it is back.
func TestVanishedMachine(t *testing.T) {
	const conns = 20
	var in sync.WaitGroup
	in.Add(2 * conns)
	var filled atomic.Bool
	fill := func(http.ResponseWriter, *http.Request) {
		if !filled.Load() {
			in.Done()
			in.Wait() // each has a connection of its own
		}
	}
	a, b := newReplica(t, fill), newReplica(t, fill)
	f := newFront(t, a.Listener.Addr().String())
	tr := newTransport(t, "http://"+f.Addr().String(), b.URL)
	get := func(patience time.Duration) error {
		resp, err := (&http.Client{Transport: tr, Timeout: patience}).Get("http://service.test/")
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	var all sync.WaitGroup
	for range 2 * conns {
		all.Go(func() {
			if err := get(time.Minute); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	filled.Store(true)
	if n := f.dialed.Load(); n != conns {
		t.Fatalf("%d connections, want %d", n, conns)
	}

	f.stopped.Store(true)
	for timeouts := 0; tr.pool.targets[0].serves(); {
		if err := get(20 * time.Millisecond); err != nil {
			if timeouts++; timeouts > 3000 { // a minute
				t.Fatal("it is never left out")
			}
		}
	}
	// sooner than they have been idle for long
	eventually(t, "its connections are closed", func() bool { return f.closed.Load() == conns })

	f.stopped.Store(false)
	served := a.served.Load()
	eventually(t, "requests come again", func() bool {
		if err := get(time.Minute); err != nil {
			t.Fatal(err)
		}
		return a.served.Load() > served+1
	})
}

// pipes is a listener of connections in memory, whose answers may stop to come.
type pipes struct {
	conns   chan net.Conn
	stopped atomic.Bool
}

func (p *pipes) Accept() (net.Conn, error) {
	c, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p *pipes) Close() error   { close(p.conns); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p.conns <- mutePipe{server, p}
	return client, nil
}

// mutePipe is the server's end.
type mutePipe struct {
	net.Conn
	p *pipes
}

func (c mutePipe) Write(b []byte) (int, error) {
	if c.p.stopped.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// TestHTTP2Pings: a request without a deadline ends where the machine has vanished, and the next
// one gets another connection.
func TestHTTP2Pings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{conns: make(chan net.Conn, 1)}
		protocols := new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		blocked := make(chan struct{})
		srv := &http.Server{
			Protocols: protocols,
			Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/slow" {
					close(blocked)
					<-r.Context().Done()
				}
			}),
		}
		go srv.Serve(p)
		base := newBase()
		base.Proxy, base.DialContext, base.Protocols = nil, p.dial, protocols
		get := func(path string) error {
			req, err := http.NewRequest("GET", "http://a"+path, nil)
			if err != nil {
				return err
			}
			resp, err := base.RoundTrip(req)
			if err == nil {
				resp.Body.Close()
			}
			return err
		}
		if err := get("/"); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- get("/slow") }()
		<-blocked
		p.stopped.Store(true)
		begin := time.Now()
		select {
		case err := <-ended:
			if took := time.Since(begin); err == nil || took > pingEvery+pingTimeout {
				t.Errorf("%v after %v", err, took)
			}
		case <-time.After(time.Hour):
			t.Error("it waits for ever")
		}
		p.stopped.Store(false)
		if err := get("/"); err != nil {
			t.Error(err)
		}
		base.CloseIdleConnections()
		srv.Close()
	})
}

// TestBaseOfDefault: what the program has set for HTTP/2 stays.
func TestBaseOfDefault(t *testing.T) {
	old := http.DefaultTransport
	defer func() { http.DefaultTransport = old }()
	d := old.(*http.Transport).Clone()
	d.HTTP2 = &http.HTTP2Config{SendPingTimeout: time.Minute, MaxReadFrameSize: 1 << 20}
	http.DefaultTransport = d
	if is := newBase().HTTP2; is.SendPingTimeout != time.Minute || is.PingTimeout != pingTimeout ||
		is.MaxReadFrameSize != 1<<20 {
		t.Errorf("%+v", is)
	}
	if d.HTTP2.PingTimeout != 0 {
		t.Error("the program's own has changed")
	}
}
