package loadgen

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/internal/testutil"
)

func TestRequestsIn(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		rate float64
		want int64
	}{
		{time.Second, 1, 1},
		{time.Second, 3, 3},
		{1100 * time.Millisecond, 10, 11},
		{300 * time.Millisecond, 10, 3},
		{time.Second, 1.5, 2},
		{time.Millisecond, 1, 1},
		{1, MinRate, 1},
		{10 * time.Second, .1, 1},
		{30 * time.Second, .1, 3},
		{time.Second + 1, 1, 1},
		{time.Second + time.Millisecond, 1, 2},
		{24 * time.Hour, MaxRate, 86400e6},
		{24 * time.Hour, 99999, 86400 * 99999},
	} {
		if got := requestsIn(c.d, c.rate); got != c.want {
			t.Errorf("%v at %v/s: %d, want %d", c.d, c.rate, got, c.want)
		}
	}
	for ms := range time.Duration(3000) {
		for _, rate := range []float64{10, 100, 1000, 50000} {
			want := (int64(ms+1)*int64(rate) + 999) / 1000
			if got := requestsIn((ms+1)*time.Millisecond, rate); got != want {
				t.Fatalf("%d ms at %v/s: %d, want %d", ms+1, rate, got, want)
			}
		}
	}
}

// big is a body that the pacer may not write itself.
var big = []byte(strings.Repeat("x", 64<<10))

// openPaths are the ways a request takes in the open loop.
func openPaths(one, two string) map[string]Options {
	return map[string]Options{
		"direct":    {Targets: []Target{{URL: one}}},
		"big body":  {Targets: []Target{{URL: one, Method: "PUT", Body: big}}},
		"two hosts": {Targets: []Target{{URL: one}, {URL: two}}},
		"transport": {Targets: []Target{{URL: one}}, Transport: &http.Transport{MaxIdleConnsPerHost: 50}},
		"churn":     {Targets: []Target{{URL: one}}, DisableKeepAlive: true},
	}
}

func TestOpenLoopCountsExactly(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	one, two := &gauge{}, &gauge{}
	for name, o := range openPaths(serve(t, one.ServeHTTP).URL, serve(t, two.ServeHTTP).URL) {
		o.Connections = 50
		if tr, ok := o.Transport.(*http.Transport); ok {
			defer tr.CloseIdleConnections()
		}
		for _, c := range []struct {
			rate     float64
			duration time.Duration
			requests int
			want     int64
		}{
			{500, 200 * time.Millisecond, 0, 100},
			{1000, 0, 73, 73},
			{1000, 50 * time.Millisecond, 73, 50},
			{1000, time.Hour, 7, 7},
		} {
			o.Rate, o.Duration, o.Requests = c.rate, c.duration, c.requests
			before := one.served.Load() + two.served.Load()
			r := run(t, o)
			wantAll(t, r, c.want)
			if served := one.served.Load() + two.served.Load() - before; served != c.want {
				t.Errorf("%s: served %d of %d", name, served, c.want)
			}
			if r.Rate != c.rate || r.LateMax < 0 || r.Latency.Max() < r.Service.Max() {
				t.Errorf("%s: rate %v, late %v, latency %v, service %v", name, r.Rate, r.LateMax, r.Latency.Max(),
					r.Service.Max())
			}
			if least := time.Duration(float64(c.want-1) / c.rate * 1e9); r.Duration < least {
				t.Errorf("%s: the last of %d was due at %v, and was answered at %v", name, c.want, least, r.Duration)
			}
			if name == "churn" && r.Connects != c.want {
				t.Errorf("%d connections for %d requests", r.Connects, c.want)
			}
		}
	}
}

func TestOpenLoopBoundsConnections(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	one, two := &gauge{work: 5 * time.Millisecond}, &gauge{work: 5 * time.Millisecond}
	for name, o := range openPaths(serve(t, one.ServeHTTP).URL, serve(t, two.ServeHTTP).URL) {
		one.most.Store(0)
		two.most.Store(0)
		o.Connections, o.Rate, o.Requests = 3, 5000, 120
		r := run(t, o)
		wantAll(t, r, 120)
		if most := max(one.most.Load(), two.most.Load()); most > 3 {
			t.Errorf("%s: %d requests at once", name, most)
		}
		if r.Late == 0 {
			t.Errorf("%s: none was late at many times the capacity", name)
		}
		if tr, ok := o.Transport.(*http.Transport); ok {
			tr.CloseIdleConnections()
		}
	}
}

// While a request stalls, those behind it fall due and wait: their latency says so.
func TestOpenLoopCountsFromTheTimeDue(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	const stall = 300 * time.Millisecond
	for _, body := range [][]byte{nil, big} {
		var n atomic.Int64
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			if n.Add(1) == 11 {
				time.Sleep(stall)
			}
		})
		// One request each 10 ms over one connection. The 11th takes 300 ms, so the next wait
		// 290, 280, ... 10 ms, and the last 60 none.
		r := run(t, Options{
			Targets: []Target{{URL: srv.URL, Method: "PUT", Body: body}}, Connections: 1, Rate: 100,
			Requests: 100,
		})
		wantAll(t, r, 100)
		// A slow machine adds to latency, and takes nothing away.
		for i, want := range []time.Duration{300, 290, 250, 200, 150, 100, 50} {
			want *= time.Millisecond
			q := 1 - float64(300*time.Millisecond-want)/float64(10*time.Millisecond)/100
			if got := r.Latency.Quantile(q); got < want-5*time.Millisecond {
				t.Errorf("%d: quantile %v is %v, want at least %v", i, q, got, want)
			}
		}
		if r.Late < 28 || r.LateMax < 285*time.Millisecond {
			t.Errorf("%d late, by up to %v; want 29, by 290 ms", r.Late, r.LateMax)
		}
		if slow := r.Service.Count() - countBelow(&r.Service, stall); slow == 0 {
			t.Errorf("no request took the server %v", stall)
		}
		if p := r.Series.Points[5]; p.Max < stall { // due at 100 ms, in bins of 20 ms
			t.Errorf("the stall is not where the request was due: %+v", r.Series.Points)
		}
	}
}

func countBelow(h *Histogram, d time.Duration) (n int64) {
	for to, c := range h.All() {
		if to < d {
			n += c
		}
	}
	return n
}

// The requests are spread over the time, not sent in one go.
func TestOpenLoopSpacing(t *testing.T) {
	var mu sync.Mutex
	var at []time.Time
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		at = append(at, time.Now())
	})
	began := time.Now()
	wantAll(t, run(t, Options{Targets: []Target{{URL: srv.URL}}, Rate: 100, Requests: 50}), 50)
	for i, a := range at {
		// None can be early. Being late is the machine's doing.
		if a.Sub(began) < time.Duration(i)*10*time.Millisecond {
			t.Errorf("request %d arrived %v after the start", i, a.Sub(began))
		}
	}
}

// Who waits longest goes first, whatever path the requests take.
func TestOpenLoopBacklogIsFIFO(t *testing.T) {
	for _, body := range [][]byte{nil, big} {
		var mu sync.Mutex
		var got []string
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			mu.Lock()
			defer mu.Unlock()
			got = append(got, r.URL.Path)
			time.Sleep(time.Millisecond)
		})
		o := Options{Connections: 1, Rate: 1e4, Requests: 60}
		var want []string
		for i := range 60 {
			want = append(want, fmt.Sprint("/", i))
			o.Targets = append(o.Targets, Target{Method: "PUT", URL: srv.URL + want[i], Body: body})
		}
		wantAll(t, run(t, o), 60)
		if !slices.Equal(got, want) {
			t.Errorf("order %v", got)
		}
	}
}

// A server may close a connection that is idle. That is no failure, and the loop knows of it
// before it sends the next.
func TestOpenLoopIdleConnectionClosed(t *testing.T) {
	for _, method := range []string{"GET", "POST"} {
		addr := serveRaw(t, func(c *net.TCPConn, br *bufio.Reader) {
			if skipRequest(br) {
				io.WriteString(c, okAnswer)
			}
		})
		h := newHandLoop(t, Options{Targets: []Target{{Method: method, URL: "http://" + addr}}, Rate: 1})
		for range 5 {
			h.release()
			h.until("the connection is given up", func() bool { return h.senders == 0 })
		}
		if r := h.end(); r.Answered != 5 || r.Failed != 0 || h.e.connects.Load() != 5 {
			t.Errorf("%s: %d answered over %d connections, %+v", method, r.Answered, h.e.connects.Load(), r.Failures)
		}
	}
}

// A server that speaks unasked on an idle connection loses it, and the words are no answer.
func TestOpenLoopUnaskedAnswer(t *testing.T) {
	var served atomic.Int64
	answered := make(chan struct{})
	addr := serveRaw(t, func(c *net.TCPConn, br *bufio.Reader) {
		for skipRequest(br) {
			served.Add(1)
			io.WriteString(c, okAnswer)
			<-answered
			io.WriteString(c, "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		}
	})
	h := newHandLoop(t, Options{Targets: []Target{{URL: "http://" + addr}}, Rate: 1})
	for range 4 {
		h.release()
		h.until("the answer is there", func() bool { return len(h.idle) == 1 })
		answered <- struct{}{}
		h.until("the connection is given up", func() bool { return h.senders == 0 })
	}
	if r := h.end(); r.Answered != 4 || r.Statuses[200] != 4 || r.Failed != 0 || served.Load() != 4 ||
		h.e.connects.Load() != 4 {
		t.Errorf("served %d over %d connections; %v, %+v", served.Load(), h.e.connects.Load(), r.Statuses, r.Failures)
	}
}

// handLoop is an open loop whose requests fall due by hand.
type handLoop struct {
	*openLoop
	t      *testing.T
	cancel context.CancelFunc
}

func newHandLoop(t *testing.T, o Options) *handLoop {
	t.Helper()
	e, err := newEngine(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	l := newOpenLoop(ctx, e)
	l.rec, l.due = newRecorder(true, 0), e.now
	return &handLoop{l, t, cancel}
}

// until waits for a state of the loop.
func (h *handLoop) until(what string, ok func() bool) {
	h.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		h.mu.Lock()
		now := ok()
		h.mu.Unlock()
		if now {
			return
		}
		if time.Now().After(end) {
			h.t.Fatalf("timed out: %s", what)
		}
	}
}

// end stops the loop and returns what it recorded.
func (h *handLoop) end() *Result {
	h.cancel()
	h.e.closeConns()
	h.e.wg.Wait()
	return h.rec.result()
}

// TestThroughputOfFewRequests: few requests at constant gaps come at the rate that was asked for,
// though the last gap lies behind the last answer.
func TestThroughputOfFewRequests(t *testing.T) {
	for _, tt := range []struct {
		r    Result
		want float64
	}{
		{Result{Rate: .5, Answered: 3, Duration: 4010 * time.Millisecond}, .5},
		{Result{Rate: .5, Answered: 2, Failed: 1, Duration: 4010 * time.Millisecond}, 1. / 3},
		// it fell behind
		{Result{Rate: 100, Answered: 300, Duration: 6 * time.Second}, 50},
		// no gap is the next one's
		{Result{Rate: 100, Arrivals: ArrivalsPoisson, Answered: 320, Duration: 3200 * time.Millisecond}, 100},
		{Result{Answered: 300, Duration: 3 * time.Second}, 100},
		{Result{Rate: 1}, 0},
	} {
		if got := tt.r.Throughput(); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%+v: %v, want %v", tt.r, got, tt.want)
		}
	}
}

func TestSleepUntilIsNeverEarly(t *testing.T) {
	e := &engine{epoch: time.Now()}
	done := make(chan struct{})
	go func() { // its thread ends with it
		defer close(done)
		nap := newNap()
		for range 300 {
			until := e.now() + rand.Int64N(2e6) - 1e5
			if !e.sleepUntil(t.Context(), until, nap) {
				t.Error("no cancellation, and false")
			}
			if now := e.now(); now < until {
				t.Errorf("%d ns early", until-now)
			}
		}
	}()
	<-done
}

func TestSleepUntilCancelled(t *testing.T) {
	e := &engine{epoch: time.Now()}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	nap := func(ns int64) { time.Sleep(time.Duration(ns)) }
	if e.sleepUntil(ctx, int64(time.Hour), nap) || e.now() > int64(patience) {
		t.Errorf("slept %v", time.Duration(e.now()))
	}
	if e.sleepUntil(ctx, 0, nap) {
		t.Error("true after the end")
	}
}

// The times due do not drift from the rate, however long the run.
func TestDueDoesNotDrift(t *testing.T) {
	for _, rate := range []int64{1, 3, 7, 999, 48611, 999983} {
		interval := 1e9 / float64(rate)
		for _, second := range []int64{1, 59, 3600, 86400} {
			due := int64(float64(second*rate) * interval)
			if off := due - second*1e9; off < -1 || off > 1 {
				t.Errorf("rate %d: %d ns off after %d s", rate, off, second)
			}
		}
	}
}
