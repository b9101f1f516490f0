//go:build unix

package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
)

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
	for _, flags := range []string{"-n 50 -c 3", "-n 50 -rate 2000", "-n 50 -c 3 -redirects 2"} {
		r := call(append(append([]string{"load", "-unix", name}, strings.Fields(flags)...), "http://app.example/x")...)
		r.check(t, cli.ExitOK, []string{"status 200 50\n"}, nil)
	}
	if n := other.Load(); n > 0 {
		t.Errorf("%d requests were of another host or path", n)
	}
	call("load", "-unix", name+"x", "http://app/").check(t, cli.ExitUsage, nil, []string{"-unix: stat "})
	call("load", "-unix", t.TempDir(), "http://app/").check(t, cli.ExitUsage, nil, []string{"it is no socket"})
}

// TestLoadRedirects follows as many redirects as it may.
func TestLoadRedirects(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil || n == 0 {
			return
		}
		http.Redirect(w, r, fmt.Sprintf("/%d", n-1), http.StatusTemporaryRedirect)
	})
	for _, tt := range []struct{ flags, status string }{
		{"", "status 307 20\n"},
		{"-redirects 2", "status 307 20\n"},
		{"-redirects 3", "status 200 20\n"},
		{"-redirects 3 -rate 500 -d body", "status 200 20\n"},
	} {
		r := call(append(append([]string{"load", "-pprof", "off", "-n", "20", "-c", "2"}, strings.Fields(tt.flags)...),
			url+"/3")...)
		r.check(t, cli.ExitOK, []string{tt.status}, nil)
	}
	call("load", "-redirects", "-1", url).check(t, cli.ExitUsage, nil, []string{"-redirects -1; write how many"})
	call("load", "-redirects", "1", "-http2", "-streams", "2", url).check(t, cli.ExitUsage, nil,
		[]string{"leave out -streams"})
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
