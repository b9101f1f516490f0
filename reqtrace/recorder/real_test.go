package recorder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/trace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/internal/history"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/testutil"
	"evenkeel.dev/reqtrace"
)

// shop is a service with two planted causes.
type shop struct {
	stock sync.Mutex
	*httptest.Server
}

func newShop(t *testing.T, r *Recorder) *shop {
	s := &shop{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /fast", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "fast") })
	mux.HandleFunc("GET /sleep", func(http.ResponseWriter, *http.Request) { time.Sleep(plantedTime) })
	mux.HandleFunc("GET /lock", s.buy)
	root := http.NewServeMux()
	root.Handle("/", r.Middleware(mux))
	root.Handle("/debug/evenkeel/", r)
	s.Server = httptest.NewServer(root)
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return s
}

const plantedTime = 300 * time.Millisecond

func (s *shop) refresh() {
	s.stock.Lock()
	time.Sleep(plantedTime)
	s.stock.Unlock()
}

func (s *shop) buy(http.ResponseWriter, *http.Request) {
	s.stock.Lock()
	defer s.stock.Unlock()
}

func (s *shop) get(t *testing.T, path string) (status int, body []byte) {
	t.Helper()
	res, err := http.Get(s.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, body
}

// TestReal: in a real process a planted sleep and a planted lock are named, and the page, the JSON
// and the snapshots show them; the next process goes on with the history.
func TestReal(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	leaks.Test(t)
	dir := t.TempDir()
	o := Options{
		Slow: 100 * time.Millisecond, Every: time.Second, Dir: dir,
		CPU: 1, InProcess: true, Logger: quiet, Build: "one",
		TraceID: func(context.Context) string { return "4bf92f35" },
	}
	r, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop(context.Background())
	explained := make(chan Explained, 100)
	r.Subscribe(func(e Explained) { explained <- e })
	s := newShop(t, r)

	// an analysis takes a small part of a processor, and the machine may be busy
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	until := func(path string, cause reqtrace.Cause) Explained {
		t.Helper()
		for {
			for range 30 {
				s.get(t, "/fast")
			}
			var held sync.WaitGroup
			if cause == reqtrace.CauseLock {
				held.Go(s.refresh)
			}
			s.get(t, path)
			held.Wait()
			select {
			case e := <-explained:
				if e.Cause == cause {
					return e
				}
			case <-time.After(time.Second): // the analysis goes on, and rests for most of the time
			case <-ctx.Done():
				t.Fatalf("no %v is seen: %+v, %v", cause, r.Stats(), coverage(r))
			}
		}
	}
	if q := until("/sleep", reqtrace.CauseSleep); q.Class != "GET /sleep" || q.Lost < plantedTime/2 ||
		q.TraceID != "4bf92f35" {
		t.Errorf("%+v", q)
	}
	q := until("/lock", reqtrace.CauseLock)
	if !strings.HasSuffix(q.Function, ".buy") || !strings.HasSuffix(q.Holder, ".refresh") ||
		q.Class != "GET /lock" {
		t.Errorf("%+v", q)
	}

	if status, body := s.get(t, "/debug/evenkeel/"); status != http.StatusOK ||
		!bytes.Contains(body, []byte("refresh")) || !bytes.Contains(body, []byte(`href="snapshot/`)) {
		t.Errorf("the page: %d, %s", status, body)
	}
	var h history.History
	if _, body := s.get(t, "/debug/evenkeel/json?since=1h"); json.Unmarshal(body, &h) != nil ||
		len(h.Summaries(time.Time{})) < 2 {
		t.Errorf("the history: %s", body)
	}
	for stats := (Stats{}); stats.Analyzed == 0 || stats.Cost.Analysis == 0; time.Sleep(time.Millisecond) {
		// the cost of an analysis is known when it has ended
		if _, body := s.get(t, "/debug/evenkeel/stats"); json.Unmarshal(body, &stats) != nil || ctx.Err() != nil {
			t.Fatalf("the statistics: %s", body)
		}
	}
	for path, want := range map[string]int{
		"json?since=x": 400, "snapshot/x": 404, "snapshot/../../history": 404,
		"x": 404,
	} {
		if status, body := s.get(t, "/debug/evenkeel/"+path); status != want {
			t.Errorf("%s: %d, %s", path, status, body)
		}
	}
	for _, path := range []string{"snapshot", "snapshot/" + q.Snapshot} {
		_, body := s.get(t, "/debug/evenkeel/"+path)
		_, err := reqtrace.Analyze(t.Context(), bytes.NewReader(body), reqtrace.Options{})
		if err != nil && !isNoRequests(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}

	o.Build = "two"
	r, err = Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.store.Snapshot().Summaries(time.Time{})); n < 2 {
		t.Errorf("%d causes are left", n)
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if list, err := filepath.Glob(filepath.Join(dir, "snapshots", "*")); err != nil || len(list) == 0 {
		t.Errorf("snapshots that are kept: %v, %v", list, err)
	}
}

// TestNeighbours: a trace works beside it, another flight recorder is refused, and so is another recorder.
func TestNeighbours(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	leaks.Test(t)
	r, err := Start(t.Context(), Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{}); !errors.Is(err, ErrRunning) {
		t.Error(err)
	}
	var beside, asked bytes.Buffer
	if err := trace.Start(&beside); err != nil {
		t.Fatal(err)
	}
	if err := r.Snapshot(t.Context(), &asked); err != nil || asked.Len() == 0 {
		t.Error(err)
	}
	trace.Stop()
	for name, b := range map[string]*bytes.Buffer{"beside": &beside, "asked": &asked} {
		if _, err := reqtrace.Analyze(t.Context(), b, reqtrace.Options{}); !isNoRequests(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	theirs := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	if err := theirs.Start(); err != nil {
		t.Fatal(err)
	}
	defer theirs.Stop()
	if _, err := Start(t.Context(), Options{}); !errors.Is(err, ErrFlightRecorder) {
		t.Errorf("beside another flight recorder: %v", err)
	}
	if !theirs.Enabled() {
		t.Error("the program's flight recorder was stopped")
	}
}

// TestSwitch: switching off and on again disturbs no trace that is taken meanwhile.
func TestSwitch(t *testing.T) {
	p := newRuntime()
	var beside, own bytes.Buffer
	if err := p.start(leastWindow, leastBytes); err != nil {
		t.Fatal(err)
	}
	if err := trace.Start(&beside); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		p.stop()
		if err := p.start(leastWindow, leastBytes); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.writeTo(&own); err != nil {
		t.Error(err)
	}
	trace.Stop()
	p.stop()
	for name, b := range map[string]*bytes.Buffer{"beside": &beside, "own": &own} {
		if _, err := reqtrace.Analyze(t.Context(), b, reqtrace.Options{}); !isNoRequests(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestChaos tests that no request fails, and that each slow one is accounted for, while the directory
// goes away again and again.
func TestChaos(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	leaks.Test(t)
	dir := filepath.Join(t.TempDir(), "recorder")
	r, err := Start(t.Context(), Options{
		Slow: time.Millisecond, Every: time.Second, Dir: dir, CPU: 1, Logger: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(10 * time.Millisecond)
		io.WriteString(w, "sold")
	})
	srv := httptest.NewServer(r.Middleware(mux))
	t.Cleanup(srv.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	var clients sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	enough := func() bool {
		s := r.Stats()
		return ctx.Err() != nil || s.Snapshots+s.Failures[string(failWrite)] >= 3
	}
	var asked atomic.Uint64
	for range 4 {
		clients.Go(func() {
			for !enough() {
				res, err := http.Get(srv.URL)
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(res.Body)
				res.Body.Close()
				if asked.Add(1); err != nil || string(body) != "sold" {
					t.Errorf("%q, %v", body, err)
				}
			}
		})
	}
	clients.Go(func() {
		for !enough() {
			_ = os.RemoveAll(dir) // which may be written to at this moment
			time.Sleep(10 * time.Millisecond)
		}
	})
	clients.Wait()
	if err := r.Stop(t.Context()); err != nil {
		t.Log(err) // of the history, where its directory has just gone
	}
	if s := r.Stats(); ctx.Err() != nil || s.Requests != asked.Load() {
		t.Errorf("of %d requests: %+v", asked.Load(), s)
	}
	if c := coverage(r); c.Slow != asked.Load() || c.Kept+c.Failed+c.Limited+c.Off != c.Slow {
		t.Errorf("%+v", c)
	}
}

func isNoRequests(err error) bool {
	_, none := errors.AsType[*reqtrace.NoRequestsError](err)
	return none
}
