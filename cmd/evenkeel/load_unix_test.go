//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/load"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/testutil"
)

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	one, two := filepath.Join(dir, "one.json"), filepath.Join(dir, "two.json")
	r := execute(t, "load", url, "-n", "100", "-c", "4", "-o", one)
	r.check(t, cli.ExitOK, []string{
		url, "4 connections (closed loop)", "requests/s", "p99.9", "status 200", "latency",
		"█",
	}, []string{"wrote " + one})
	if strings.Contains(r.stdout, "\x1b") {
		t.Error("attributes in what is no terminal")
	}
	r = execute(t, "load", "-rate", "500", "-n", "100", "-label", "open", "-o", two, url)
	r.check(t, cli.ExitOK, []string{"500 requests/s (open loop)", "p99 from sending", "sent > 1 ms late"}, nil)

	call("compare", one, two).check(t, cli.ExitOK, []string{"load", "open", "had different loads"}, nil)
	call("compare", one, one).check(t, cli.ExitOK, []string{one, one + " (2)"}, nil)

	piped := execute(t, "load", "-n", "10", "-o", "-", url)
	piped.check(t, cli.ExitOK, nil, nil)
	startWith(t, piped.stdout, "compare", "-", one).wait().check(t, cli.ExitOK, []string{"standard input", "one"}, nil)
}

// TestLoadEnds takes the bound that comes first.
func TestLoadEnds(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	t.Parallel()
	url := serve(t, func(http.ResponseWriter, *http.Request) {})
	for _, tt := range []struct {
		flags string
		n     int64 // 0: more than 0
	}{
		{"-n 30 -z 1m", 30},
		{"-n 1000000000 -z 200ms", 0},
		{"-z .2", 0},
		{"", 200},
		{"-rate 0 -n 10", 10},
		{"-n 1 -c 10", 1},
		{"-n 10 -disable-keepalive", 10},
		{"-rate 1000 -n 50 -z 1m", 50},
	} {
		r := call(append(strings.Fields("load -o - "+tt.flags), url)...)
		r.check(t, cli.ExitOK, nil, nil)
		f, err := runfile.Read(strings.NewReader(r.stdout))
		if err != nil {
			t.Fatal(err)
		}
		if n := f.Runs[0].Load.Answered; n == 0 || tt.n > 0 && n != tt.n {
			t.Errorf("%s: %d answered, want %d", tt.flags, n, tt.n)
		}
	}
}

func TestLoadSends(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	t.Parallel()
	body := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(body, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	type request struct{ Method, Host, Path, Type, Auth, X, Body string }
	var mu sync.Mutex
	var last request
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		user, password, _ := r.BasicAuth()
		mu.Lock()
		defer mu.Unlock()
		last = request{
			r.Method, r.Host, r.RequestURI, r.Header.Get("Content-Type"), user + ":" + password,
			strings.Join(r.Header["X"], "|"), string(b),
		}
	})
	host := strings.TrimPrefix(url, "http://")
	const form = "application/x-www-form-urlencoded"
	for _, tt := range []struct {
		args  []string
		stdin string
		want  request
	}{
		{[]string{url}, "", request{"GET", host, "/", "", ":", "", ""}},
		{[]string{host + "/a?b=c%20d"}, "", request{"GET", host, "/a?b=c%20d", "", ":", "", ""}},
		{[]string{url, "-d", "x=1"}, "", request{"POST", host, "/", form, ":", "", "x=1"}},
		{
			[]string{url, "-D", body, "-m", "PUT", "-H", "Content-Type: text/plain"},
			"",
			request{"PUT", host, "/", "text/plain", ":", "", "from a file"},
		},
		{[]string{url, "-D", "-"}, "piped", request{"POST", host, "/", form, ":", "", "piped"}},
		{
			[]string{url, "-H", "Authorization: Basic bWU6YTpi", "-H", "Host: example.com"},
			"",
			request{"GET", "example.com", "/", "", "me:a:b", "", ""},
		},
		{
			[]string{"-H", "x: 1", url, "-H", "X:2", "-H", "Content-Type: a/b", "-d", "y"},
			"",
			request{"POST", host, "/", "a/b", ":", "1|2", "y"},
		},
	} {
		args := append([]string{"load", "-n", "1"}, tt.args...)
		load := call
		if tt.stdin != "" { // in a process that has one
			load = func(args ...string) result { return startWith(t, tt.stdin, args...).wait() }
		}
		load(args...).check(t, cli.ExitOK, nil, nil)
		mu.Lock()
		if d := cmp.Diff(tt.want, last); d != "" {
			t.Errorf("%q: -want +got %s", tt.args, d)
		}
		mu.Unlock()
	}
}

func TestLoadMixed(t *testing.T) {
	t.Parallel()
	var a, b atomic.Int64
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/b" {
			b.Add(1)
			w.WriteHeader(503)
			return
		}
		if !strings.HasPrefix(r.URL.Path, "/debug/") {
			a.Add(1)
		}
	})
	call("load", "-n", "50", "-c", "5", url+"/a", url+"/b").
		check(t, cli.ExitOK, []string{
			url + "/a\nGET " + url + "/b", "status 200 25", "status 503 25",
			"not 2xx or 3xx",
		}, nil)
	if a.Load() != 25 || b.Load() != 25 {
		t.Errorf("%d and %d requests, want 25 each", a.Load(), b.Load())
	}
}

func TestLoadFails(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	t.Parallel()
	call("load", "-n", "5", gone).
		check(t, cli.ExitFailed, []string{"failed (refused)"}, []string{"no request was answered: ", "refused"})
	call("load", "-n", "2", "http://host.invalid").
		check(t, cli.ExitFailed, []string{"failed (dns)"}, []string{"host.invalid"})
	hang := make(chan struct{})
	url := serve(t, func(http.ResponseWriter, *http.Request) { <-hang })
	defer close(hang)
	call("load", "-n", "2", "-t", "100ms", url).check(t, cli.ExitFailed, []string{"failed (timeout)"}, nil)
}

// TestLoadGoesOn has a server answer only after the time of the load.
func TestLoadGoesOn(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{"-c 1", "-c 1 -rate 1000"} {
		url := serve(t, func(http.ResponseWriter, *http.Request) { time.Sleep(500 * time.Millisecond) })
		call(append(strings.Fields("load -pprof off -z 200ms "+flags), url)...).check(t, cli.ExitOK,
			[]string{"status 200 "}, nil)
	}
}

// TestLoadEndsASecondAfterZ: what was due by then and could not be sent has that long, and not -t.
func TestLoadEndsASecondAfterZ(t *testing.T) {
	var l load.Flags
	fs := flag.NewFlagSet("load", flag.ContinueOnError)
	l.Register(fs)
	if err := fs.Parse(strings.Fields("-rate 20000 -z 3")); err != nil {
		t.Fatal(err)
	}
	if o, err := l.Options([]string{"http://service"}); err != nil || o.Drain != time.Second {
		t.Errorf("%v, %v", o.Drain, err)
	}
}

// TestLoadGivesUp has a server that never answers, so that most of what is due cannot be sent.
func TestLoadGivesUp(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	t.Parallel()
	hang := make(chan struct{})
	url := serve(t, func(http.ResponseWriter, *http.Request) { <-hang })
	defer close(hang)
	call("load", "-rate", "1000", "-c", "2", "-z", "200ms", "-t", "2s", url).
		check(t, cli.ExitFailed, []string{" failed (unsent), ", " failed (timeout), "}, nil)
}

// TestLoadAnswersAreBad has a service that answers, and nothing that was asked for.
func TestLoadAnswersAreBad(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	t.Parallel()
	url := serve(t, http.NotFound)
	r := call("load", "-n", "5", url)
	r.check(t, cli.ExitFailed, []string{"status 404 5"}, []string{"none of 5 answers had a status of 2xx or 3xx"})
}

// TestLoadFailsPartly has a service that answers every other request: that is a result, and an exit
// code only by -fail-if.
func TestLoadFailsPartly(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	t.Parallel()
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			panic(http.ErrAbortHandler)
		}
	})
	args := []string{"load", "-n", "40", "-pprof", "off", url + "/here", url + "/gone"}
	call(args...).check(t, cli.ExitOK, []string{"status 200 20", "20 failed ("}, nil)
	call(append(args, "-fail-if", "bad>0", "-fail-if", "failed>49%")...).check(t, cli.ExitLimit,
		[]string{"status 200 20"}, []string{"-fail-if failed>49%: it is 50.0%"})
}

func TestLoadInterrupted(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	t.Parallel()
	for _, flags := range []string{"-z 1m -c 4", "-z 1m -rate 200", "-warmup 1m -z 1m"} {
		var n atomic.Int64
		url := serve(t, func(http.ResponseWriter, *http.Request) { n.Add(1) })
		out := filepath.Join(t.TempDir(), "run.json")
		c := start(t, append(strings.Fields("load -o "+out+" "+flags), url)...)
		until(t, "requests come", func() bool { return n.Load() > 20 })
		c.signal(syscall.SIGINT)
		c.wait().check(t, cli.ExitInterrupted, []string{"requests", "! the load was interrupted"},
			[]string{"interrupted", "wrote " + out})
		if f := readRuns(t, out); !f.Runs[0].Load.Interrupted {
			t.Error("run.json does not say that it was interrupted")
		}
	}
}

// TestInterruptBeforeWork has a signal just end what has nothing to report yet.
func TestInterruptBeforeWork(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"load -D - x", "compare -", "run -url x -D - -- y", "plan -"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		cmd := thisCommand(t.Context(), strings.Fields(args)...)
		cmd.Stdin = r
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		r.Close()
		time.Sleep(100 * time.Millisecond) // it reads by now, or has not begun to: no matter
		_ = cmd.Process.Signal(syscall.SIGINT)
		kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		if !kill.Stop() || cmd.ProcessState.Success() {
			t.Errorf("%s: %v", args, cmd.ProcessState)
		}
	}
}

// TestSpecialOutputs writes to what must not be replaced by a file.
func TestSpecialOutputs(t *testing.T) {
	t.Parallel()
	url := serve(t, func(http.ResponseWriter, *http.Request) {})
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		b, err := os.ReadFile(fifo)
		if err == nil && !json.Valid(b) {
			err = os.ErrInvalid
		}
		got <- err
	}()
	execute(t, "load", "-n", "3", "-o", fifo, url).check(t, cli.ExitOK, nil, nil)
	if err := <-got; err != nil {
		t.Error(err)
	}
	link, file := filepath.Join(dir, "link"), filepath.Join(dir, "file")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	execute(t, "load", "-n", "3", "-o", link, url).check(t, cli.ExitOK, nil, nil)
	readRuns(t, link)
	if fi, err := os.Lstat(link); err != nil || fi.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v %v", fi, err)
	}
}

// TestLoadUnixSocket: a load goes to the socket, and the URL's host to the service.
func TestLoadUnixSocket(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	var other atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Host != "app.example" || r.URL.Path != "/x" {
			other.Add(1)
		}
	}))
	srv.Listener.Close()
	srv.Listener = ln
	srv.Start()
	t.Cleanup(srv.Close)
	for _, flags := range []string{"-n 50 -c 3", "-n 50 -rate 2000"} {
		r := call(append(append([]string{"load", "-unix", name}, strings.Fields(flags)...), "http://app.example/x")...)
		r.check(t, cli.ExitOK, []string{"status 200 50\n"}, nil)
	}
	if n := other.Load(); n > 0 {
		t.Errorf("%d requests were of another host or path", n)
	}
	call("load", "-unix", name+"x", "http://app/").check(t, cli.ExitUsage, nil, []string{"-unix: stat "})
	call("load", "-unix", t.TempDir(), "http://app/").check(t, cli.ExitUsage, nil, []string{"it is not a socket"})
}

// TestLoadHintsHTTP2: a server that speaks HTTP/2 without TLS and nothing else gets a hint at
// -http2.
func TestLoadHintsHTTP2(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	srv.Config.Protocols = new(http.Protocols)
	srv.Config.Protocols.SetUnencryptedHTTP2(true)
	srv.Start()
	t.Cleanup(srv.Close)
	call("load", "-n", "10", "-pprof", "off", srv.URL).check(t, cli.ExitFailed, nil, []string{"(h2c): write -http2"})
	call("load", "-n", "10", "-pprof", "off", "-http2", srv.URL).check(t, cli.ExitOK, []string{"status 200 10\n"}, nil)

	closes, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closes.Close() })
	go func() {
		for c, err := closes.Accept(); err == nil; c, err = closes.Accept() {
			c.Close()
		}
	}()
	r := call("load", "-n", "10", "-pprof", "off", "http://"+closes.Addr().String())
	r.check(t, cli.ExitFailed, nil, []string{"no request was answered"})
	if strings.Contains(r.stderr, "-http2") {
		t.Error(r.stderr)
	}
}
