package health

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/gcgate/internal/polled"
	"evenkeel.dev/internal/leaks"
)

// The gate looks for these by type.
var (
	_ gcgate.Signal    = (*Handler)(nil)
	_ gcgate.Attacher  = (*Handler)(nil)
	_ gcgate.Checker   = (*Handler)(nil)
	_ gcgate.Confirmer = (*Handler)(nil)
	_ gcgate.Explainer = (*Handler)(nil)
	_ gcgate.Validator = (*Handler)(nil)
)

func TestMain(m *testing.M) { leaks.Main(m) }

// logBuffer is a buffer for several goroutines.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// sleep returns false when ctx ends before d is over.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// startGate starts a gate over h.
func startGate(t *testing.T, o gcgate.Options, h *gcgatetest.Heap, log *logBuffer) *gcgate.Gate {
	t.Helper()
	o.Collector, o.Logger = h, slog.New(slog.NewTextHandler(log, nil))
	g, err := gcgate.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestHandlerNeedsTheTurn: a balancer that finds all down has no server to send to.
func TestHandlerNeedsTheTurn(t *testing.T) {
	if d, ok := any(&Handler{}).(gcgate.Describer); ok && d.Describe().SafeWithoutTurn {
		t.Error("it says that it is safe without the turn")
	}
}

func TestHandlerAnswers(t *testing.T) {
	tests := []struct {
		name, method, remote, network string
		draining                      bool
		status                        int
		body                          string
	}{
		{"ready", "GET", "127.0.0.1:1", "tcp", false, 200, "ready\n"},
		{"draining", "GET", "127.0.0.1:1", "tcp", true, 503, "draining\n"},
		{"HEAD", "HEAD", "[::1]:1", "tcp", true, 503, "draining\n"}, // the server drops the body
		{"allowed", "GET", "10.1.2.3:1", "tcp", false, 200, "ready\n"},
		{"allowed, IPv4 in IPv6", "GET", "[::ffff:10.1.2.3]:1", "tcp", false, 200, "ready\n"},
		{"other address", "GET", "10.2.2.3:1", "tcp", true, 403, "forbidden\n"},
		{"other address's POST", "POST", "10.2.2.3:1", "tcp", false, 403, "forbidden\n"},
		{"POST", "POST", "127.0.0.1:1", "tcp", false, 405, "use GET or HEAD\n"},
		{"no address", "GET", "@", "tcp", false, 403, "forbidden\n"},
		{"Unix socket", "GET", "@", "unix", false, 200, "ready\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := &Handler{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
			if tt.draining {
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				h.Drain(ended, time.Second) // nobody polls: it answers so from now on
			}
			var local net.Addr = &net.TCPAddr{}
			if tt.network == "unix" {
				local = &net.UnixAddr{Net: "unix"}
			}
			ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, local)
			r := httptest.NewRequestWithContext(ctx, tt.method, "/health", nil)
			r.RemoteAddr = tt.remote
			for _, header := range []string{"X-Forwarded-For", "X-Real-Ip", "Forwarded"} {
				r.Header.Set(header, "127.0.0.1") // must not let another address in
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tt.status || w.Body.String() != tt.body {
				t.Errorf("got %d %q, want %d %q", w.Code, w.Body, tt.status, tt.body)
			}
			if got := w.Header().Get("Cache-Control"); got != "no-store" {
				t.Errorf("Cache-Control is %q", got)
			}
			if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, "text/plain") {
				t.Errorf("Content-Type is %q", got)
			}
			if tt.status == 405 && w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("Allow is %q", w.Header().Get("Allow"))
			}
		})
	}
}

func TestHandlerTellsWhoPolls(t *testing.T) {
	h := &Handler{Fall: 3, Rise: 2}
	statuses := make(chan int, 1000)
	r := httptest.NewRequest("GET", "/health", nil)
	r.RemoteAddr = "127.0.0.1:1"
	poll := func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		select {
		case statuses <- w.Code:
		default:
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ; ctx.Err() == nil; sleep(ctx, 5*time.Millisecond) {
			poll()
		}
	})
	defer running.Wait()
	defer cancel()
	if err := errors.Join(h.Check(t.Context()), h.Drain(t.Context(), time.Second), h.Ready(t.Context())); err != nil {
		t.Fatal(err)
	}
	count := map[int]int{}
	for len(statuses) > 0 {
		count[<-statuses]++
	}
	if count[503] < 3 || count[200] < 2 {
		t.Errorf("Drain and Ready returned after %v answers; fall is 3, rise is 2", count)
	}
}

func TestHandlerWithoutPollsNamesTheLineToAdd(t *testing.T) {
	var log logBuffer
	g, err := gcgate.Start(t.Context(), gcgate.Options{
		Policy: gcgate.PolicyThrough, Collector: gcgatetest.NewHeap(),
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Stop(context.Background())
	h := &Handler{}
	h.Attach(g)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	for _, err := range []error{h.Check(ctx), h.Drain(ctx, time.Second), h.CanConfirm(time.Second)} {
		if !errors.Is(err, polled.ErrNoPolls) || !strings.Contains(err.Error(), "option httpchk") ||
			!strings.Contains(err.Error(), "no_traffic_interval") {
			t.Errorf("got %v, want the line to add", err)
		}
	}
	if err := h.Ready(ctx); err != nil {
		t.Errorf("Ready, where no peer was asked to drain: %v", err)
	}
	for range 2 {
		r := httptest.NewRequest("GET", "/health", nil)
		r.RemoteAddr = "10.0.0.1:1"
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	if err := h.Check(ctx); err == nil || !strings.Contains(err.Error(), "Handler.Allow") {
		t.Errorf("got %v, want Handler.Allow", err)
	}
	if n := strings.Count(log.String(), "refused a poll"); n != 1 {
		t.Errorf("logged %d times that it refused a poll, want once", n)
	}
}

// TestHandlerNamesBothBalancers: it cannot know who polls.
func TestHandlerNamesBothBalancers(t *testing.T) {
	why := new(Handler).WhyIgnored()
	for _, want := range []string{"in Envoy common_lb_config.update_merge_window", "in HAProxy a cookie"} {
		if !strings.Contains(why, want) {
			t.Errorf("%q lacks %q", why, want)
		}
	}
}

// TestHandlerRefusesNegatives: the gate's first call says which field, and no drain begins.
func TestHandlerRefusesNegatives(t *testing.T) {
	for option, h := range map[string]*Handler{"Fall": {Fall: -1}, "Rise": {Rise: -3}, "Pollers": {Pollers: -1}} {
		for call, err := range map[string]error{
			"Check": h.Check(t.Context()), "Drain": h.Drain(t.Context(), time.Second), "Ready": h.Ready(t.Context()),
			"CanConfirm": h.CanConfirm(time.Second),
		} {
			if oe, ok := errors.AsType[*evenkeel.OptionError](err); !ok || oe.Option != option ||
				!strings.Contains(err.Error(), "health.Handler."+option+": -") {
				t.Errorf("%s: %s returned %v", option, call, err)
			}
		}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1/", nil)); w.Body.String() == "draining\n" {
			t.Errorf("%s: it drains", option)
		}
	}
}

// TestHandlerWithoutAProofSaysSoOnce: the log names what to set.
func TestHandlerWithoutAProofSaysSoOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		h := &Handler{}
		heap := gcgatetest.NewHeap()
		heap.Rate = 0
		g := startGate(t, gcgate.Options{}, heap, &log)
		defer g.Stop(t.Context())
		h.Attach(g)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := httptest.NewRequest("GET", "/health", nil)
		r.RemoteAddr = "127.0.0.1:1"
		go func() {
			for sleep(ctx, 10*time.Millisecond) {
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
		}()
		time.Sleep(time.Second)
		for n := range 3 {
			if err := errors.Join(h.Drain(ctx, time.Second), h.Ready(ctx)); err != nil {
				t.Fatal(err)
			}
			if strings.Count(log.String(), "no proof") != 1 ||
				!strings.Contains(log.String(), "http-check send-state") {
				t.Errorf("after %d drains the log does not say it once:\n%s", n+1, log.String())
			}
		}
	})
}

// TestHandlerLogsToTheGate that it is attached to.
func TestHandlerLogsToTheGate(t *testing.T) {
	var log bytes.Buffer
	h := &Handler{}
	heap := gcgatetest.NewHeap()
	heap.Rate = 1 // it never collects
	g, err := gcgate.Start(t.Context(), gcgate.Options{
		Signals: []gcgate.Signal{h}, DisableTurns: true, Collector: heap,
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	poll := httptest.NewRequest("GET", "/", nil)
	poll.RemoteAddr = "192.0.2.1:1"
	h.ServeHTTP(httptest.NewRecorder(), poll)
	if err := g.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if strings.Count(log.String(), "refused a poll") != 1 {
		t.Errorf("the log does not say once that a poll was refused:\n%s", log.String())
	}
}

// TestHandlerInAnswers: a balancer that polls every half second is drained within some
// milliseconds, and Draining says from when to when answers shall tell it.
func TestHandlerInAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &Handler{Fall: 1, Rise: 1, InAnswers: true}
		heap := gcgatetest.NewHeap()
		heap.Rate = 0
		g := startGate(t, gcgate.Options{}, heap, new(logBuffer))
		defer g.Stop(context.Background())
		h.Attach(g)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			r := httptest.NewRequest("GET", "/health", nil)
			r.RemoteAddr = "127.0.0.1:1"
			for sleep(ctx, 500*time.Millisecond) {
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
		}()
		time.Sleep(2100 * time.Millisecond)
		if err := h.CanConfirm(100 * time.Millisecond); err != nil {
			t.Errorf("CanConfirm returned %v", err)
		}
		if h.Draining() {
			t.Error("it is draining before Drain")
		}
		begin := time.Now()
		if err := h.Drain(ctx, time.Second); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took > 20*time.Millisecond {
			t.Errorf("Drain took %v", took)
		}
		if !h.Draining() {
			t.Error("it is not draining after Drain")
		}
		if err := h.Ready(ctx); err != nil {
			t.Fatal(err)
		}
		if h.Draining() {
			t.Error("it is draining after Ready")
		}
	})
}

// oneTurn is the turn of all replicas.
type oneTurn chan struct{}

func (t oneTurn) TryAcquire(context.Context) (gcgate.Lease, error) {
	select {
	case t <- struct{}{}:
		return t, nil
	default:
		return nil, gcgate.ErrHeld
	}
}

func (t oneTurn) Lost() <-chan struct{} { return nil }

func (t oneTurn) Release(context.Context) error { <-t; return nil }
