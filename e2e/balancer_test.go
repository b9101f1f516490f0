//go:build unix

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/examples/child"
	"evenkeel.dev/internal/testutil"
)

// server returns the path of a balancer's program. If it is required, a missing one fails the test.
func server(t *testing.T, name string) string {
	t.Helper()
	testutil.Slow(t, "starts "+name)
	for _, name := range []string{name, filepath.Join("/usr/sbin", name)} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	testutil.Missing(t, name+", neither in PATH nor in /usr/sbin")
	return ""
}

// startServer runs a program, and waits until addr accepts.
func startServer(t *testing.T, addr string, env []string, bin string, args ...string) *child.Child {
	t.Helper()
	args = append(append([]string{"-c", `echo starting; exec env "$@" 2>&1`, "sh"}, env...),
		append([]string{bin}, args...)...)
	p, _ := start(t, regexp.MustCompile("^(starting)"), "/bin/sh", args...)
	eventually(t, addr+" accepts", func() bool {
		select {
		case <-p.Done():
			t.Fatalf("%s left: %v", bin, p.State())
		default:
		}
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return p
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	eventuallyWithin(t, stopTimeout, what, ok)
}

func eventuallyWithin(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

var ports sync.Map

// freeServerPort returns a port that the kernel gives to no connection, and that cmd/evenkeel's
// tests do not take (20000 on).
func freeServerPort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		port := strconv.Itoa(10000 + rand.IntN(10000))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		l.Close()
		if _, taken := ports.LoadOrStore(port, true); !taken {
			return port
		}
	}
	t.Fatal("no port is free from 10000 to 19999")
	return ""
}

func portOnly(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }

// markHeader is on requests that replicas count apart.
const markHeader = "X-Mark"

// replica is an HTTP server that answers with its name, the method and the body.
type replica struct {
	port    string
	refuse  atomic.Bool  // answer 503 at once, as a gate under Shed does
	die     atomic.Bool  // run the request, and close the connection
	ran     atomic.Int64 // requests that were not refused
	refused atomic.Int64
	marked  atomic.Int64 // requests with markHeader
	kill    func()
}

// startReplica serves until the test ends. health may be nil.
func startReplica(t *testing.T, name string, health http.Handler) *replica {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := new(replica)
	_, r.port, _ = net.SplitHostPort(l.Addr().String())
	mux := http.NewServeMux()
	if health != nil {
		mux.Handle("/health", health)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get(markHeader) != "" {
			r.marked.Add(1)
		}
		if r.refuse.Load() {
			r.refused.Add(1)
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		r.ran.Add(1)
		if r.die.Load() {
			panic(http.ErrAbortHandler)
		}
		body, _ := io.ReadAll(req.Body)
		fmt.Fprintf(w, "%s %s %s", name, req.Method, body)
	})
	s := &http.Server{Handler: mux}
	go s.Serve(l)
	r.kill = func() { s.Close() }
	t.Cleanup(r.kill)
	return r
}

type caller struct {
	url    string
	client http.Client
}

func newCaller(t *testing.T, port string) *caller {
	c := &caller{url: "http://127.0.0.1:" + port + "/", client: http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 16},
		Timeout:   time.Minute,
	}}
	t.Cleanup(c.client.CloseIdleConnections)
	return c
}

// call sends one request, and wants its own answer.
func (c *caller) call(method, mark string) error {
	body := ""
	if method == http.MethodPost {
		body = "the body"
	}
	r, err := http.NewRequest(method, c.url, strings.NewReader(body))
	if err != nil {
		return err
	}
	if mark != "" {
		r.Header.Set(markHeader, mark)
	}
	answer, err := c.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK || !strings.HasSuffix(string(b), " "+method+" "+body) {
		return fmt.Errorf("%s got %s %q: %w", method, answer.Status, b, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	return nil
}

// calls sends n marked requests, four at a time.
func (c *caller) calls(t *testing.T, n int, method string) {
	t.Helper()
	var left, failed atomic.Int64
	left.Store(int64(n))
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for left.Add(-1) >= 0 {
				if err := c.call(method, "1"); err != nil && failed.Add(1) == 1 {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	if f := failed.Load(); f > 0 {
		t.Errorf("%d of %d requests failed", f, n)
	}
}

// runsOnce proves that a POST that one replica has run without an answer is not run by the other.
func (c *caller) runsOnce(t *testing.T, a, b *replica) {
	t.Helper()
	a.die.Store(true)
	b.die.Store(true)
	was := a.ran.Load() + b.ran.Load()
	if err := c.call(http.MethodPost, ""); err == nil {
		t.Error("a POST was answered that no replica has answered")
	}
	if n := a.ran.Load() + b.ran.Load() - was; n != 1 {
		t.Errorf("a POST ran %d times, want once", n)
	}
	a.die.Store(false)
	b.die.Store(false)
}

// loadPause leaves some hundred requests a second, so that each drain has some.
const loadPause = 4 * time.Millisecond

// load sends GETs until the test ends.
func (c *caller) load(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			for ctx.Err() == nil {
				if err := c.call(http.MethodGet, ""); err != nil {
					t.Errorf("in the background: %v", err)
					return
				}
				time.Sleep(loadPause)
			}
		})
	}
	t.Cleanup(func() { cancel(); running.Wait() })
}
