package etcdturn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"

	"evenkeel.dev/contrib/etcdturn"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/testutil"
	"evenkeel.dev/internal/turnsuite"
)

func verifyNoLeak(t testing.TB, ignore goleak.Option) {
	t.Helper()
	if err := leaks.Goroutines(ignore); err != nil {
		t.Error(err)
	}
}

// verifyNoneOfOurs waits until no goroutine is of this package.
func verifyNoneOfOurs(t testing.TB) {
	t.Helper()
	const ours = "evenkeel.dev/contrib/etcdturn.("
	stacks := make([]byte, 1<<20)
	for range 600 {
		text := string(stacks[:runtime.Stack(stacks, true)])
		if !strings.Contains(text, ours) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("goroutines of etcdturn are left:\n%s", stacks[:runtime.Stack(stacks, true)])
}

func TestMain(m *testing.M) {
	turnsuite.Child(func(addr string, ttl time.Duration) (turnsuite.Turns, error) {
		return etcdturn.New(etcdturn.Options{Endpoints: []string{addr}, Group: "g", TTL: ttl})
	})
	code := runTests(m)
	if code == 0 {
		if err := leaks.Goroutines(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines left:", err)
			code = 1
		}
	}
	os.Exit(code)
}

func TestTurns(t *testing.T) {
	turnsuite.Suite{
		Start:  func(t testing.TB) turnsuite.Arbiter { return &arbiter{server: newServer(t)} },
		Shared: func(t testing.TB) turnsuite.Arbiter { return &arbiter{server: sharedServer(t)} },
		MaxK:   64,
		Nowhere: func(t testing.TB) turnsuite.Turns {
			// a port that no process gets
			return newTurns(t, etcdturn.Options{Endpoints: []string{"127.0.0.1:1"}})
		},
	}.Run(t)
}

type arbiter struct {
	*server
	way *proxy // of the turns that are far
}

func (a *arbiter) New(t testing.TB, o turnsuite.Options) turnsuite.Turns {
	t.Helper()
	addr := a.addr
	if o.Far {
		a.way = newProxy(t, a.addr)
		addr = a.way.addr
	}
	return newTurns(t, etcdturn.Options{
		Endpoints: []string{addr}, Group: o.Group, Holder: o.Holder, K: o.K, TTL: o.TTL,
	})
}

func (a *arbiter) Addr() string                { return a.addr }
func (a *arbiter) Down(testing.TB)             { a.kill() }
func (a *arbiter) Up(t testing.TB)             { a.start(t) }
func (a *arbiter) Hold(requests, answers bool) { a.way.hold(requests, answers) }

func (a *arbiter) Renewed(t testing.TB) func() bool {
	client, last := newClient(t, a.server), int64(0)
	return func() bool {
		left := timeToLive(t, client)
		renewed := left > last && last > 0
		last = left
		return renewed
	}
}

var quiet = slog.New(slog.DiscardHandler)

// newTurns returns Turns in group g. No stall of a busy machine ends their default TTL.
func newTurns(t testing.TB, o etcdturn.Options) *etcdturn.Turns {
	t.Helper()
	if o.TTL == 0 {
		o.TTL = time.Minute
	}
	if o.Group == "" {
		o.Group = "g"
	}
	turns, err := etcdturn.New(o)
	if err != nil {
		t.Fatal(err)
	}
	turns.LogTo(quiet)
	t.Cleanup(func() { turns.Close() })
	return turns
}

const startTimeout = 20 * time.Second

// server is an etcd.
type server struct {
	addr string
	peer string
	dir  string
	cmd  *exec.Cmd
	log  *bytes.Buffer
}

func newServer(t testing.TB) *server {
	t.Helper()
	need(t)
	s := &server{addr: freeAddr(t), peer: freeAddr(t), dir: t.TempDir()}
	s.start(t)
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("etcd said:\n%s", s.log)
		}
	})
	return s
}

// shared is the etcd of the tests that do not kill theirs, because each start takes as long as a
// test.
var shared struct {
	sync.Once
	*server
}

// sharedServer returns an etcd without keys.
func sharedServer(t testing.TB) *server {
	t.Helper()
	need(t)
	shared.Do(func() {
		dir, err := os.MkdirTemp("", "etcdturn-test-")
		if err != nil {
			t.Fatal(err)
		}
		s := &server{addr: freeAddr(t), peer: freeAddr(t), dir: dir}
		s.start(t)
		shared.server = s
	})
	if shared.server == nil {
		t.Fatal("the test that had to start the etcd of all could not")
	}
	t.Cleanup(func() { shared.wipe(t) })
	return shared.server
}

func (s *server) wipe(t testing.TB) {
	t.Helper()
	client, err := clientv3.New(etcdturn.ClientConfig(s.addr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	revokeAll(t, client)
	ctx, cancel := context.WithTimeout(context.Background(), turnsuite.Patience)
	defer cancel()
	if _, err := client.Delete(ctx, "\x00", clientv3.WithFromKey()); err != nil {
		t.Fatal(err)
	}
}

func revokeAll(t testing.TB, client *clientv3.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), turnsuite.Patience)
	defer cancel()
	leases, err := client.Leases(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range leases.Leases {
		if _, err := client.Revoke(ctx, l.ID); err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			// it may have expired
			t.Fatal(err)
		}
	}
}

func runTests(m *testing.M) int {
	defer func() {
		if s := shared.server; s != nil {
			s.kill()
			os.RemoveAll(s.dir)
		}
	}()
	return m.Run()
}

func need(t testing.TB) {
	t.Helper()
	testutil.Slow(t, "starts etcd")
	if _, err := exec.LookPath("etcd"); err != nil {
		testutil.Missing(t, "etcd (Debian: etcd-server)")
	}
}

// freeAddr returns a port that the kernel gives to no connection, and that no other package's tests
// take (10000 to 29999).
func freeAddr(t testing.TB) string {
	t.Helper()
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", 30000+nextPort.Add(1)%1000)
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
	t.Fatal("no port is free from 30000 to 30999")
	return ""
}

var nextPort atomic.Uint32

func init() { nextPort.Store(rand.Uint32N(1000)) }

// start runs etcd, with the data of its last run, and waits until it is healthy.
func (s *server) start(t testing.TB) {
	t.Helper()
	s.log = new(bytes.Buffer)
	s.cmd = exec.Command("etcd",
		"--name", "test", "--data-dir", s.dir, "--unsafe-no-fsync", "--logger", "zap", "--log-level", "error",
		"--listen-client-urls", "http://"+s.addr, "--advertise-client-urls", "http://"+s.addr,
		"--listen-peer-urls", "http://"+s.peer, "--initial-advertise-peer-urls", "http://"+s.peer,
		"--initial-cluster", "test=http://"+s.peer,
		"--heartbeat-interval", "50", "--election-timeout", "500") // for leases of a second
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		resp, err := client.Get("http://" + s.addr + "/health")
		if err != nil {
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if strings.Contains(string(body), `"true"`) {
			return
		}
	}
	s.kill()
	t.Fatalf("etcd was not healthy after %v:\n%s", startTimeout, s.log)
}

func (s *server) kill() {
	if s.cmd != nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
		s.cmd = nil
	}
}

// proxy is a way to a server that can hold back what passes.
type proxy struct {
	addr string

	mu       sync.Mutex
	open     *sync.Cond
	requests bool // guarded by mu
	answers  bool // guarded by mu
	holding  int  // connections; guarded by mu
	conns    []net.Conn
	closed   bool
}

func newProxy(t testing.TB, addr string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{addr: l.Addr().String()}
	p.open = sync.NewCond(&p.mu)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			down, err := l.Accept()
			if err != nil {
				return
			}
			up, err := new(net.Dialer).DialContext(context.Background(), "tcp", addr)
			if err != nil {
				down.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, down, up)
			p.mu.Unlock()
			running.Go(func() { p.pass(up, down, &p.requests) })
			running.Go(func() { p.pass(down, up, &p.answers) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		p.closed = true
		for _, c := range p.conns {
			c.Close()
		}
		p.open.Broadcast()
		p.mu.Unlock()
		running.Wait()
	})
	return p
}

// pass copies. While *stopped it holds back what it has read.
func (p *proxy) pass(to, from net.Conn, stopped *bool) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		p.holding++
		for *stopped && !p.closed {
			p.open.Wait()
		}
		p.holding--
		p.mu.Unlock()
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

func (p *proxy) awaitHeld(t testing.TB) {
	t.Helper()
	for end := time.Now().Add(turnsuite.Patience); ; time.Sleep(time.Millisecond) {
		p.mu.Lock()
		n := p.holding
		p.mu.Unlock()
		if n > 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("nothing is held back after %v", turnsuite.Patience)
		}
	}
}

func (p *proxy) hold(requests, answers bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests, p.answers = requests, answers
	p.open.Broadcast()
}
