package httpd

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

// Connections move as often as they can in tests. go test -cpu 2,4,16 has 1, 2 and 8 loops.
func init() {
	crowded, uneven, quiet = 0, 0, -1
	balanceEvery, quietEvery = time.Millisecond, time.Millisecond
}

// SetCalm has loops move connections as in production, until the test ends.
func SetCalm(t testing.TB) {
	c, u, q, be, qe := crowded, uneven, quiet, balanceEvery, quietEvery
	crowded, uneven, quiet, balanceEvery, quietEvery = 0.25, 1.1, 0.05, 100*time.Millisecond, time.Second
	t.Cleanup(func() { crowded, uneven, quiet, balanceEvery, quietEvery = c, u, q, be, qe })
}

// TestShare: what crowded loops give, and to whom.
func TestShare(t *testing.T) {
	SetCalm(t)
	for _, tt := range []struct {
		name        string
		busy        []float64
		to, budgets []int // by loop; to is 0 without a budget
		lacks       bool
		conns       []int // active
	}{
		{"low", []float64{.2}, []int{0}, []int{0}, false, nil},
		{"alone", []float64{.8}, []int{0}, []int{0}, true, nil},
		{"a new one", []float64{.8, 0}, []int{1, 0}, []int{500, 0}, false, nil},
		{"even", []float64{.4, .38}, []int{0, 0}, []int{0, 0}, true, nil},
		{"uneven", []float64{.3, .6}, []int{0, 0}, []int{0, 250}, true, nil},
		{"not crowded", []float64{.2, .1}, []int{0, 0}, []int{0, 0}, false, nil},
		{"pairs", []float64{.8, .1, .4, .2}, []int{1, 0, 3, 0}, []int{438, 0, 250, 0}, false, nil},
		{"quiet again", []float64{.05, .02, .01}, []int{0, 0, 0}, []int{0, 1000, 1000}, false, nil},
		{"full", []float64{.95, .91}, []int{0, 0}, []int{0, 334}, true, []int{200, 600}},
		{"one has time", []float64{.95, .5}, []int{1, 0}, []int{237, 0}, true, []int{200, 600}},
	} {
		var loops []*loop
		total := 0.0
		for i, busy := range tt.busy {
			l := loopOf(&server{})
			l.relief.seen, l.relief.busy, l.relief.last = busy, busy, 1000
			if tt.conns != nil {
				l.relief.conns = tt.conns[i]
			}
			total += busy
			loops = append(loops, l)
		}
		if lacks := lacksLoop(loops); lacks != tt.lacks {
			t.Errorf("%s: another loop: %t, want %t", tt.name, lacks, tt.lacks)
		}
		share(loops, total, crowded, 4)
		for i, l := range loops {
			if l.relief.budget != tt.budgets[i] || l.relief.budget > 0 && l.relief.to != loops[tt.to[i]] {
				t.Errorf("%s: loop %d gives %d, or to another; want %d", tt.name, i, l.relief.budget, tt.budgets[i])
			}
		}
	}
}

// TestHotConnection: a loop with one connection, which cannot give it away, needs no further loop if
// another one is idle.
func TestHotConnection(t *testing.T) {
	SetCalm(t)
	hot, idle := loopOf(&server{}), loopOf(&server{})
	hot.relief.seen, hot.relief.busy, hot.relief.last = .9, .9, 1000
	for range 10 {
		share([]*loop{hot, idle}, .9, crowded, 4)
		if lacksLoop([]*loop{hot, idle}) {
			t.Fatalf("another loop is to begin, with %v and %v busy", hot.relief.seen, idle.relief.seen)
		}
	}
}

// TestMoves: connections move between loops while requests are served, and all are counted.
func TestMoves(t *testing.T) {
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.RemoteAddr))
	})}
	ln := httptest.NewUnstartedServer(nil).Listener
	ended := make(chan error, 1)
	go func() { ended <- Serve(t.Context(), srv, ln, Options{Loops: 4}) }()
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			c := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
			defer c.CloseIdleConnections()
			for StatsOf(srv).Moved < 100 {
				res, err := c.Get("http://" + ln.Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				res.Body.Close()
			}
		})
	}
	clients.Wait()
	if s := StatsOf(srv); len(s.Reads) != 4 || s.Accepted < 8 {
		t.Errorf("%+v; want 4 loops and 8 connections", s)
	}
	_ = srv.Close()
	if err := <-ended; err != http.ErrServerClosed {
		t.Error(err)
	}
}

// TestGivenAfterClose: net/http does not accept a connection that is to be HTTP/2 when the listener
// is closed, so it ends.
func TestGivenAfterClose(t *testing.T) {
	s := &server{hooks: &hooks{}, open: 1}
	l := loopOf(s)
	s.closed.Store(true)
	c := newConn(l, new(aio.Conn))
	l.mu.Lock()
	defer l.mu.Unlock()
	c.give(wire{c})
	if !c.dropped || len(s.others) > 0 || s.open > 0 {
		t.Errorf("dropped %t, %d wait, %d open", c.dropped, len(s.others), s.open)
	}
}

// TestNewLoopIsIdle: the first period of a loop that begins late is not the server's whole life, in
// which the loop has not waited.
func TestNewLoopIsIdle(t *testing.T) {
	s := &server{bounds: Options{Loops: 2, MaxConns: 1, Backend: aio.BackendAuto}, log: slog.New(slog.DiscardHandler)}
	s.start = time.Now().Add(-time.Hour)
	first, err := s.newLoop()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	s.first, s.loops = first, []*loop{first}
	defer s.closeWatchers()
	if began := s.addLoop()[1].relief.began; began < time.Hour {
		t.Errorf("its first period began after %v", began)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestRefusedLoop: a loop that cannot begin is logged once, and the logger may ask for statistics.
func TestRefusedLoop(t *testing.T) {
	s := &server{hooks: &hooks{}}
	loopOf(s)
	s.bounds.Loops, s.bounds.Backend = 2, aio.Backend(99)
	lines := 0
	s.log = slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		lines += len(s.all())
		return len(p), nil
	}), nil))
	for range 2 {
		if loops := s.addLoop(); len(loops) != 1 || s.refused.IsZero() {
			t.Errorf("%d loops, refused at %v", len(loops), s.refused)
		}
	}
	if lines != 1 {
		t.Errorf("%d lines were logged, want 1", lines)
	}
}
