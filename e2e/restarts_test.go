//go:build unix

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/httpd"
	"evenkeel.dev/internal/testutil"
	"evenkeel.dev/loadgen"
)

// restartsConfig has HAProxy ask the other replica if one refuses or closes a connection.
const restartsConfig = `
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s

frontend service
    bind "127.0.0.1:${LISTEN_PORT}"
    default_backend be

backend be
    balance roundrobin
    retries 10
    option redispatch 1
    retry-on conn-failure empty-response
    server a "127.0.0.1:${A_PORT}"
    server b "127.0.0.1:${B_PORT}"
`

// TestRestarts restarts two servers of httpd behind HAProxy, one at a time. No request fails.
func TestRestarts(t *testing.T) {
	requests, restarts := 1200, 6
	if testutil.Soak() > 0 {
		requests, restarts = 1_000_000, 50
	}
	bin := server(t, "haproxy")
	a, b := newRestarted(t), newRestarted(t)
	port := freeServerPort(t)
	config := filepath.Join(t.TempDir(), "restarts.cfg")
	if err := os.WriteFile(config, []byte(restartsConfig), 0o644); err != nil {
		t.Fatal(err)
	}
	addr := "127.0.0.1:" + port
	startServer(t, addr, []string{"LISTEN_PORT=" + port, "A_PORT=" + a.port, "B_PORT=" + b.port}, bin, "-W", "-db",
		"-f", config)

	ended := make(chan struct{})
	var result *loadgen.Result
	var err error
	go func() {
		defer close(ended)
		var targets []loadgen.Target
		for _, path := range []string{"/hello", "/large", "/slow"} {
			targets = append(targets, loadgen.Target{URL: "http://" + addr + path})
		}
		result, err = loadgen.Run(t.Context(), loadgen.Options{
			Targets: targets, Connections: 20, Requests: requests,
			Timeout: time.Minute,
		})
	}()
	for i := range restarts {
		at := int64(i+1) * int64(requests) / int64(restarts+1)
		for a.ran.Load()+b.ran.Load() < at {
			select {
			case <-ended:
				t.Fatalf("the load ended after %d restarts: %v", i, err)
			case <-time.After(time.Millisecond):
			}
		}
		[]*restarted{a, b}[i%2].restart(t)
	}
	select {
	case <-ended:
	case <-time.After(time.Hour):
		t.Fatal("the load does not end")
	}
	if err != nil {
		t.Fatal(err)
	}
	if result.Failed > 0 || result.Statuses[http.StatusOK] != int64(requests) {
		t.Errorf("of %d requests failed %d: %+v; statuses %v", requests, result.Failed, result.Failures,
			result.Statuses)
	}
	t.Logf("%d requests, %d restarts, p99 %v, the longest %v", result.Requests(), restarts,
		result.Latency.Quantile(.99), result.Latency.Max())
}

type restarted struct {
	port  string
	ran   atomic.Int64
	srv   *http.Server
	ended chan error
}

func newRestarted(t *testing.T) *restarted {
	r := &restarted{port: freeServerPort(t)}
	r.start(t)
	t.Cleanup(func() { r.stop(t) })
	return r
}

func (r *restarted) start(t *testing.T) {
	t.Helper()
	m, large := http.NewServeMux(), bytes.Repeat([]byte("evenkeel"), 16<<10)
	m.HandleFunc("/hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	m.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(large) })
	m.HandleFunc("/slow", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(2 * time.Millisecond)
		fmt.Fprint(w, "slow")
	})
	ln, err := net.Listen("tcp", "127.0.0.1:"+r.port)
	if err != nil {
		t.Fatal(err)
	}
	r.srv, r.ended = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.ran.Add(1)
		m.ServeHTTP(w, q)
	})}, make(chan error, 1)
	go func(srv *http.Server, ended chan<- error) {
		ended <- httpd.Serve(context.Background(), srv, ln, httpd.Options{})
	}(r.srv, r.ended)
}

func (r *restarted) stop(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := r.srv.Shutdown(ctx); err != nil {
		t.Error("Shutdown:", err)
	}
	if err := <-r.ended; err != http.ErrServerClosed {
		t.Error("Serve:", err)
	}
}

func (r *restarted) restart(t *testing.T) {
	t.Helper()
	r.stop(t)
	r.start(t)
}
