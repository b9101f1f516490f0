package loadgen

import (
	"bufio"
	"context"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/testutil"
)

// Wherever a run is when its context ends, it ends soon, and what was in flight is no failure.
func TestCancel(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	hang := func(t *testing.T) string {
		return serveRaw(t, func(c *net.TCPConn, br *bufio.Reader) { io.Copy(io.Discard, br) })
	}
	ok := func(t *testing.T) string { return serve(t, answerOK).Listener.Addr().String() }
	for _, c := range []struct {
		name   string
		scheme string
		addr   func(*testing.T) string
		o      Options
		empty  bool // nothing is answered
	}{
		{"handshake", "https://", hang, Options{}, true},
		{"handshake, open", "https://", hang, Options{Rate: 1000}, true},
		{"refused", "http://", func(*testing.T) string { return refusedAddr }, Options{}, true},
		{"warm-up", "http://", ok, Options{Warmup: time.Hour}, true},
		{"warm-up, open", "http://", ok, Options{Warmup: time.Hour, Rate: 1000}, true},
		{"warm-up, in flight", "http://", hang, Options{Warmup: time.Hour}, true},
		{"in flight", "http://", hang, Options{}, true},
		{"in flight, open", "http://", hang, Options{Rate: 10}, true},
		{"in flight, transport", "http://", hang, Options{Transport: &http.Transport{}}, true},
		{"in flight, open, transport", "http://", hang, Options{Rate: 10, Transport: &http.Transport{}}, true},
		{"sending", "http://", func(t *testing.T) string {
			hold := make(chan struct{})
			addr := serveRaw(t, func(*net.TCPConn, *bufio.Reader) { <-hold })
			t.Cleanup(func() { close(hold) })
			return addr
		}, Options{Targets: []Target{{Method: "PUT", Body: make([]byte, 16<<20)}}}, true},
		{"between requests", "http://", ok, Options{Rate: .01}, false},
		{"idle workers", "http://", ok, Options{Rate: .01, Targets: []Target{{Method: "PUT", Body: big}}}, false},
		{"idle, transport", "http://", ok, Options{Rate: .01, Transport: &http.Transport{}}, false},
		{"backlog", "http://", hang, Options{Rate: 1e5}, true},
		{"backlog, big body", "http://", hang, Options{Rate: 1e5, Targets: []Target{{Method: "PUT", Body: big}}}, true},
		{"draining", "http://", hang, Options{Rate: 1e5, Requests: 1000}, true},
		{"busy", "http://", ok, Options{}, false},
		{"busy, open", "http://", ok, Options{Rate: 2000}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			leaks.Test(t)
			o := c.o
			if o.Targets == nil {
				o.Targets = []Target{{}}
			}
			o.Targets[0].URL = c.scheme + c.addr(t)
			if tr, ok := o.Transport.(*http.Transport); ok {
				t.Cleanup(tr.CloseIdleConnections)
			}
			o.Connections, o.Timeout = 4, time.Hour
			if o.Requests == 0 {
				o.Duration = time.Hour
			}
			measured := false
			o.OnMeasure = func() { measured = true }
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			began := time.Now()
			r := runContext(t, ctx, o)
			if d := time.Since(began); d > patience {
				t.Errorf("it took %v", d)
			}
			if !r.Interrupted || class(r, ClassRefused) != r.Failed {
				t.Errorf("interrupted %v; failed %+v", r.Interrupted, r.Failures)
			}
			if c.empty && r.Answered != 0 || o.Rate == .01 && r.Answered > 1 {
				t.Errorf("%d answered", r.Answered)
			}
			if measured && o.Warmup > 0 {
				t.Error("OnMeasure called in warm-up")
			}
		})
	}
}

func TestCancelledBefore(t *testing.T) {
	leaks.Test(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, rate := range []float64{0, 100} {
		r := runContext(t, ctx, Options{
			Targets: []Target{{URL: "http://127.0.0.1:1"}}, Rate: rate, Warmup: time.Hour,
			OnMeasure: func() { t.Error("OnMeasure called") },
		})
		if !r.Interrupted || r.Requests() != 0 || r.Connects != 0 {
			t.Errorf("%+v", r)
		}
	}
}

// A job that the pacer hands to an idle worker just as the run is stopped must be ended, or
// the run would wait for it for ever.
func TestCancelInHandOver(t *testing.T) {
	leaks.Test(t)
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		e := &engine{
			o: Options{Transport: instant{}, Connections: 2, Timeout: time.Hour}, epoch: time.Now(), newNap: newNap,
			reqs: []request{{target: Target{URL: "http://h/"}}}, round: []int{0},
		}
		l := newOpenLoop(ctx, e)
		l.rec, l.due = newRecorder(true, 0), func() int64 { return 0 }
		l.release()
		for idle := 0; idle == 0; {
			l.mu.Lock()
			idle = len(l.idle)
			l.mu.Unlock()
		}
		cancel()
		l.release()
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.drain(ctx, math.MaxInt64)
			e.wg.Wait()
		}()
		select {
		case <-done:
		case <-time.After(patience):
			t.Fatal("the run does not end")
		}
	}
}

// Cancelling at any moment.
func TestCancelAnyTime(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	leaks.Test(t)
	const seed = 1
	rnd := rand.New(rand.NewPCG(seed, 0))
	one, two := serve(t, answerOK), serve(t, answerOK)
	paths := openPaths(one.URL, two.URL)
	paths["closed"] = Options{Targets: []Target{{URL: one.URL}}}
	// The quickest there can be, so that workers are idle at most times.
	paths["instant"] = Options{Targets: []Target{{URL: one.URL}}, Transport: instant{}}
	for name, o := range paths {
		o.Connections, o.Duration, o.Warmup = 20, time.Hour, 10*time.Millisecond
		if name != "closed" {
			o.Rate = 20000
		}
		n := 10
		if name == "instant" {
			n = 60
		}
		for range n {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rnd.Int64N(int64(20*time.Millisecond))))
			done := make(chan struct{})
			go func() {
				defer close(done)
				if r := runContext(t, ctx, o); !r.Interrupted || r.Failed != 0 {
					t.Errorf("%s, seed %d: interrupted %v, %+v", name, seed, r.Interrupted, r.Failures)
				}
			}()
			select {
			case <-done:
			case <-time.After(patience):
				t.Fatalf("%s, seed %d: the run does not end", name, seed)
			}
			cancel()
		}
		if tr, ok := o.Transport.(*http.Transport); ok {
			tr.CloseIdleConnections()
		}
	}
}

// instant is a Transport that answers at once.
type instant struct{}

func (instant) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
}

// TestInterruptedCountsWhatWaited interrupts a load on a service that hangs, once it has so many
// requests and some time has passed: what was due must not vanish.
func TestInterruptedCountsWhatWaited(t *testing.T) {
	const wait = 50 * time.Millisecond
	hang, arrived := make(chan struct{}), make(chan struct{}, 1000)
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-hang
	}))
	defer srv.Close()
	defer close(hang)
	for name, o := range map[string]Options{
		"closed":         {Connections: 5},
		"open":           {Rate: 200, Connections: 1000},
		"open, backlog":  {Rate: 200, Connections: 3},
		"over transport": {Connections: 5, Transport: &http.Transport{DisableKeepAlives: true}},
	} {
		t.Run(name, func(t *testing.T) {
			o.Targets, o.Duration, o.Timeout = []Target{{URL: srv.URL}}, time.Hour, time.Hour
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			least := min(int64(o.Connections), 10)
			go func() {
				for range least {
					<-arrived
				}
				time.Sleep(wait)
				cancel()
			}()
			r, err := Run(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			if !r.Interrupted || r.Answered != 0 || r.Failed != 0 || r.Unfinished < least || r.UnfinishedMax < wait {
				t.Errorf("interrupted %v, answered %d, failed %d, unfinished %d (want at least %d) after up to %v",
					r.Interrupted, r.Answered, r.Failed, r.Unfinished, least, r.UnfinishedMax)
			}
		})
		for len(arrived) > 0 {
			<-arrived
		}
	}
}

// TestInterruptedCountsTheBacklog has requests fall due that no connection was free for.
func TestInterruptedCountsTheBacklog(t *testing.T) {
	hang := make(chan struct{})
	var arrived atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived.Add(1)
		<-hang
	}))
	defer srv.Close()
	defer close(hang)
	h := newHandLoop(t, Options{Targets: []Target{{URL: srv.URL}}, Connections: 3, Rate: 1, Timeout: time.Hour})
	for range 10 {
		h.release()
	}
	h.until("three are sent", func() bool { return arrived.Load() == 3 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	go h.end()
	h.drain(ctx, h.e.now()+int64(time.Hour))
	if r := h.end(); r.Unfinished != 10 || r.Failed != 0 || r.Answered != 0 {
		t.Errorf("unfinished %d of 10, failed %+v", r.Unfinished, r.Failures)
	}
}
