package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/replicas"
	"evenkeel.dev/internal/history"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

var lockKey = history.Key{Cause: reqtrace.CauseLock, Function: "main.get", Holder: "main.refresh", Class: "GET /orders"}

// slowReplica is a service with a recorder that saw so many slow requests, two minutes ago, and as
// many two hours ago.
func slowReplica(t *testing.T, n int, k history.Key) *httptest.Server {
	t.Helper()
	s := history.Open(history.Options{})
	for i := range n {
		for _, ago := range []time.Duration{2 * time.Minute, 2 * time.Hour} {
			at := time.Now().Add(-ago)
			addOne(s, history.Request{
				Start: at, Duration: time.Duration(80+i) * time.Millisecond, Key: k,
				Lost: 50 * time.Millisecond, Words: "waiting for the mutex", Snapshot: "s1",
			})
		}
	}
	return serveStore(t, s)
}

// addOne adds a slow request.
func addOne(s *history.Store, q history.Request) {
	s.AddSnapshot(&history.Head{}, &history.Explained{Slow: []history.Request{q}})
}

func serveStore(t *testing.T, s *history.Store) *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/evenkeel/json", func(w http.ResponseWriter, r *http.Request) {
		h := s.Snapshot()
		if since, err := time.ParseDuration(r.FormValue("since")); err == nil {
			h = s.Since(time.Now().Add(-since))
		}
		_ = json.NewEncoder(w).Encode(h)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}

// gone is an address at which nobody listens: a port that was just closed may be another process's
// by now.
const gone = "http://127.0.0.1:1"

// TestTop: what replicas say is added up; one that does not answer is named, and so is one that is
// there twice.
func TestTop(t *testing.T) {
	a, b := slowReplica(t, 20, lockKey), slowReplica(t, 10,
		history.Key{Cause: reqtrace.CauseRunning, Class: "POST /report"})
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	r := call("top", "-once", a.URL, b.URL+"/debug/evenkeel/", gone, other.URL, a.URL+"/debug/../debug/evenkeel/json")
	r.check(t, cli.ExitOK, []string{
		"30 requests were slow: 67% waiting for a lock that main.refresh holds, in main.get, in GET /orders; 33% " +
			"running on a CPU, in POST /report",
		"2 of 5 replicas, in the last hour: seen 30 of 30 slow requests", "! " + gone + ": ", "refused",
		"! " + other.URL + ": it answered 404", "is its recorder there",
		"it is the same process as another one", " 67% 20 1 s ", " 99 ms waiting for a lock that", "99 ms at ",
		"waiting for the mutex [s1]",
	}, nil)
	r = call("top", "-json", "-since", "0", a.URL, b.URL, gone)
	r.check(t, cli.ExitOK, nil, []string{"! " + gone})
	var h history.History
	if err := json.Unmarshal([]byte(r.stdout), &h); err != nil || h.Coverage(time.Time{}).Seen != 60 {
		t.Errorf("%v, %v", h.Coverage(time.Time{}), err)
	}
	call("top", "-once", gone).check(t, cli.ExitFailed, nil, []string{"evenkeel top: " + gone, "refused"})
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("hello, world\n"))
	}))
	defer shop.Close()
	call("top", "-once", shop.URL).check(t, cli.ExitFailed, nil,
		[]string{shop.URL + ": its answer is not a recorder's", "is its recorder there"})
	call("top", "-once", "-n", "1", a.URL, b.URL).check(t, cli.ExitOK, []string{"and 1 more cause (-n)"}, nil)
}

// TestTopPipe tests that top prints one report into a pipe and ends, and that with -every it goes
// on with a line each time.
func TestTopPipe(t *testing.T) {
	a := slowReplica(t, 3, lockKey)
	call("top", a.URL).check(t, cli.ExitOK, []string{"3 requests were slow", "share requests", "the worst of each"},
		nil)
	ctx, cancel := context.WithCancel(t.Context())
	out, done := make(draws), make(chan int)
	go func() {
		done <- dispatch(ctx, &cli.App{Stdout: out, Stderr: io.Discard}, []string{"top", "-every", "100ms", a.URL})
	}()
	for range 3 {
		if line := <-out; strings.Count(line, "\n") != 1 || !strings.Contains(line, "3 requests were slow") {
			t.Errorf("%q", line)
		}
	}
	cancel()
	for {
		select {
		case <-out: // one that was on its way
			continue
		case code := <-done:
			if code != cli.ExitOK {
				t.Errorf("exit code %d", code)
			}
		}
		break
	}
}

// TestTopInterrupted: a part of what replicas say is no sum of them.
func TestTopInterrupted(t *testing.T) {
	for _, flag := range []string{"-once", "-json"} {
		ctx, cancel := context.WithCancel(t.Context())
		r := interrupted(t, ctx, cancel, slowReplica(t, 3, lockKey), "top", flag)
		r.check(t, cli.ExitInterrupted, nil, []string{"evenkeel top: interrupted"})
		if r.stdout != "" {
			t.Errorf("%s: it prints %s", flag, r.stdout)
		}
	}
}

// interrupted calls a command for two replicas, and ends it when the first has answered and the
// second is asked.
func interrupted(t *testing.T, ctx context.Context, cancel func(), answers *httptest.Server, args ...string) result {
	t.Helper()
	answered := make(chan bool)
	answer := sync.OnceFunc(func() { close(answered) })
	first := httptest.NewUnstartedServer(answers.Config.Handler)
	first.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateIdle || s == http.StateClosed { // as the client keeps connections or not
			answer()
		}
	}
	first.Start()
	defer first.Close()
	second := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-answered
		cancel()
		<-r.Context().Done()
	}))
	defer second.Close()
	var out, err bytes.Buffer
	a := &cli.App{Stdout: &out, Stderr: &err}
	code := dispatch(ctx, a, append(args, first.URL, second.URL))
	return result{out.String(), err.String(), code}
}

// draws is a terminal that tells when something is drawn.
type draws chan string

func (d draws) Write(b []byte) (int, error) { d <- string(b); return len(b), nil }

// TestTopLive: each view takes the place of the one before it, and Ctrl-C ends; elsewhere it is a
// line each time.
func TestTopLive(t *testing.T) {
	a := slowReplica(t, 3, lockKey)
	for _, view := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		out, done := make(draws), make(chan error)
		v, err := replicas.New(&cli.App{Stdout: out, View: view}, []string{a.URL}, false)
		if err != nil {
			t.Fatal(err)
		}
		v.Since, v.Rows = time.Hour, 3
		go func() { done <- v.Follow(ctx, 10*time.Millisecond) }()
		first, second := <-out, <-out
		cancel()
		for over := false; !over; {
			select {
			case <-out: // one that was on its way
			case err := <-done:
				if over = true; err != nil {
					t.Error(err)
				}
			}
		}
		v.Close()
		lines := strings.Count(first, "\n")
		switch back := "\x1b[" + textfmt.Count(float64(lines)) + "A\x1b[J"; {
		case view && (strings.Contains(first, "\x1b[J") || !strings.HasPrefix(second, back) || lines < 5):
			t.Errorf("%q and then %q", first, second)
		case !view && (lines != 1 || strings.Contains(second, "\x1b") ||
			!strings.Contains(second, "3 requests were slow")):
			t.Errorf("%q and then %q", first, second)
		}
	}
}

// full is a disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestTopFull: what cannot be shown ends it, as a log on a disk that is full.
func TestTopFull(t *testing.T) {
	a := slowReplica(t, 3, lockKey)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	v, err := replicas.New(&cli.App{Stdout: full{}}, []string{a.URL}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	v.Rows = 3
	if err := v.Follow(ctx, time.Millisecond); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
}

// TestReport: the page and the JSON of replicas and of files, also of the folder of a process that
// is gone.
func TestReport(t *testing.T) {
	a := slowReplica(t, 20, lockKey)
	dir := t.TempDir()
	folder, page, sum := filepath.Join(dir, "folder"), filepath.Join(dir, "page.html"), filepath.Join(dir, "sum.json")
	s := history.Open(history.Options{Dir: folder})
	addOne(s, history.Request{
		Start: time.Now(), Duration: time.Second,
		Key: history.Key{Cause: reqtrace.CauseSleep, Function: "main.retry"}, Lost: time.Second,
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r := call("report", "-html", page, "-title", "orders", a.URL, folder, gone)
	r.check(t, cli.ExitOK, nil, []string{"wrote " + page, "! " + gone})
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<title>orders", "waiting for a lock that main.refresh holds",
		"waiting for a timer in main.retry", "2 of 3 replicas", "Not in it: " + gone,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	r = call("report", "-json", a.URL, filepath.Join(folder, "history.log"))
	r.check(t, cli.ExitOK, nil, nil)
	if err := os.WriteFile(sum, []byte(r.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	call("report", sum).check(t, cli.ExitOK, []string{
		"41 requests were slow: 98% waiting for a lock",
		"1 replica, all that is kept: seen 41 of 41 slow requests",
	}, nil)
	for since, last := range map[string]string{
		"1h": "hour", "10m": "10 minutes", "90m": "90 minutes", "1m": "minute",
		"1.5": "1.5s",
	} {
		call("report", "-since", since, sum).check(t, cli.ExitOK, []string{"1 replica, in the last " + last + ": "},
			nil)
	}
	call("report", "-since", "1h", sum).check(t, cli.ExitOK, []string{"21 requests were slow"}, nil)
	call("report", sum, folder).check(t, cli.ExitOK, []string{"1 of 2 replicas", "the same process"}, nil)
	call("report", "-html", "-", sum).check(t, cli.ExitOK, []string{"<!DOCTYPE html>", "This page is complete"}, nil)
	call("report", "-html", sum, sum).check(t, cli.ExitFailed, nil, []string{"would be written over"})
	call("report", gone).check(t, cli.ExitFailed, nil, []string{gone})
	for text, want := range map[string]string{
		`{"runs":[]}`:     "not the JSON of a history",
		`{"services":[]}`: "it is a report over services; name their recorders",
	} {
		if err := os.WriteFile(sum, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		call("report", sum).check(t, cli.ExitFailed, nil, []string{want})
	}
}
