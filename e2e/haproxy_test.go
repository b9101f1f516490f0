//go:build unix

package e2e

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/examples/child"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/haproxy"
	"evenkeel.dev/gcgate/health"
)

// signalTimeout is longer than a stall of the machine.
const signalTimeout = time.Minute

// haproxyServer has the replicas a and b behind it.
type haproxyServer struct {
	*child.Child
	*caller
	a, b  *replica
	admin string // port of the runtime socket
}

// startHAProxy runs HAProxy in master-worker mode. edit may change the configuration.
func startHAProxy(t *testing.T, config string, edit func(string) string, healthA, healthB http.Handler) *haproxyServer {
	t.Helper()
	h := &haproxyServer{
		a: startReplica(t, "a", healthA), b: startReplica(t, "b", healthB),
		admin: freeServerPort(t),
	}
	h.run(t, config, edit)
	return h
}

func (h *haproxyServer) run(t *testing.T, config string, edit func(string) string) {
	t.Helper()
	bin := server(t, "haproxy")
	text, err := os.ReadFile(filepath.Join("../deploy/haproxy", config))
	if err != nil {
		t.Fatal(err)
	}
	// for a stall of the machine
	text = []byte(replace(t, string(text), "timeout check 1s", "timeout check 20s"))
	if edit != nil {
		text = []byte(edit(string(text)))
	}
	path := filepath.Join(t.TempDir(), config)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	port := freeServerPort(t)
	h.caller = newCaller(t, port)
	h.Child = startServer(t, "127.0.0.1:"+port, []string{
		"LISTEN_PORT=" + port, "ADMIN_PORT=" + h.admin, "A_PORT=" + h.a.port, "B_PORT=" + h.b.port,
	}, bin, "-W", "-db", "-f", path)
}

func (h *haproxyServer) serving(t *testing.T) {
	t.Helper()
	eventually(t, "requests reach replica a", func() bool {
		before := h.a.ran.Load()
		h.calls(t, 4, http.MethodGet)
		return h.a.ran.Load() > before
	})
}

// drains proves that no request reaches replica a after Drain, and that none fails.
func (h *haproxyServer) drains(t *testing.T, s gcgate.Signal) {
	t.Helper()
	do := func(what string, f func(context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), signalTimeout)
		defer cancel()
		start := time.Now()
		if err := f(ctx); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		t.Logf("%s took %v", what, time.Since(start))
	}
	do("Check", s.(gcgate.Checker).Check)
	h.serving(t)
	h.load(t)
	for range 3 {
		do("Drain", func(ctx context.Context) error { return s.Drain(ctx, time.Second) })
		before := h.a.marked.Load()
		h.calls(t, 100, http.MethodGet)
		if n := h.a.marked.Load() - before; n != 0 {
			t.Errorf("%d of 100 requests reached the drained replica", n)
		}
		do("Drain again", func(ctx context.Context) error { return s.Drain(ctx, time.Second) })
		do("Ready", s.Ready)
		before = h.a.marked.Load()
		h.calls(t, 100, http.MethodGet)
		if n := h.a.marked.Load() - before; n < 16 {
			t.Errorf("%d of 100 requests reached the replica that is back, want about half", n)
		}
	}
}

func TestHAProxyRuntimeAPIDrains(t *testing.T) {
	h := startHAProxy(t, "runtime-api.cfg", nil, nil, nil)
	h.drains(t, &haproxy.RuntimeAPI{Addr: "127.0.0.1:" + h.admin, Backend: "be", Server: "a"})
}

func TestHAProxyHealthCheckDrains(t *testing.T) {
	s := new(health.Handler)
	h := startHAProxy(t, "health.cfg", nil, s, new(health.Handler))
	h.drains(t, s)
}

// These are HAProxy's defaults.
func TestHAProxyHealthCheckWithFallAndRiseDrains(t *testing.T) {
	s := &health.Handler{Fall: 3, Rise: 2}
	h := startHAProxy(t, "health.cfg", func(s string) string {
		return strings.Replace(s, "rise 1 fall 1", "rise 2 fall 3", 1)
	}, s, new(health.Handler))
	h.drains(t, s)
}

func TestHAProxyReloadWhileDrainedIsMendedByRepeatingDrain(t *testing.T) {
	h := startHAProxy(t, "runtime-api.cfg", nil, nil, nil)
	s := &haproxy.RuntimeAPI{Addr: "127.0.0.1:" + h.admin, Backend: "be", Server: "a"}
	h.serving(t)
	if err := s.Drain(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	old := h.worker(t)
	var sent time.Time
	eventually(t, "a new worker answers", func() bool {
		// HAProxy 2.6 loses a signal in the master's first moments.
		if time.Since(sent) > 3*time.Second {
			sent = time.Now()
			h.Signal(syscall.SIGUSR2)
		}
		return h.worker(t) != old
	})
	h.serving(t)
	if err := s.Drain(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	before := h.a.marked.Load()
	h.calls(t, 100, http.MethodGet)
	if n := h.a.marked.Load() - before; n != 0 {
		t.Errorf("%d of 100 requests reached the replica drained in the new worker", n)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.serving(t)
}

// worker returns the process id of the worker.
func (h *haproxyServer) worker(t *testing.T) string {
	t.Helper()
	if m := regexp.MustCompile(`(?m)^Pid: (\d+)`).FindStringSubmatch(h.ask(t, "show info")); m != nil {
		return m[1]
	}
	t.Fatal("show info names no Pid")
	return ""
}

func (h *haproxyServer) ask(t *testing.T, command string) string {
	t.Helper()
	conn, err := net.Dial("tcp", "127.0.0.1:"+h.admin)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, command+"\n")
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestHAProxyErrorsAreTold(t *testing.T) {
	operator := freeServerPort(t) // of a socket of a lower level
	h := startHAProxy(t, "runtime-api.cfg", func(s string) string {
		const admin = `stats socket "ipv4@127.0.0.1:${ADMIN_PORT}" level admin`
		if !strings.Contains(s, admin) {
			t.Fatal("the configuration has another stats socket than this test knows")
		}
		s = strings.Replace(s, admin, `stats socket "ipv4@127.0.0.1:`+operator+`" level operator`+"\n    "+admin, 1)
		return s + "\nbackend lone\n    server a \"127.0.0.1:${A_PORT}\"\n"
	}, nil, nil)
	tests := []struct {
		name  string
		s     *haproxy.RuntimeAPI
		drain error // in Drain's error and Check's
		say   string
	}{
		{"server", &haproxy.RuntimeAPI{Addr: h.admin, Backend: "be", Server: "x"}, fs.ErrNotExist, "no such server"},
		{"backend", &haproxy.RuntimeAPI{Addr: h.admin, Backend: "x", Server: "a"}, fs.ErrNotExist, "no such backend"},
		{"level", &haproxy.RuntimeAPI{Addr: operator, Backend: "be", Server: "a"}, fs.ErrPermission, "level admin"},
		{"alone", &haproxy.RuntimeAPI{Addr: h.admin, Backend: "lone", Server: "a"}, haproxy.ErrLastServer, "503"},
		{
			"port", &haproxy.RuntimeAPI{Addr: freeServerPort(t), Backend: "be", Server: "a"}, syscall.ECONNREFUSED,
			"cannot connect",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.s.Addr = "127.0.0.1:" + tt.s.Addr
			for _, err := range []error{tt.s.Check(t.Context()), tt.s.Drain(t.Context(), time.Second)} {
				if !errors.Is(err, tt.drain) || !strings.Contains(err.Error(), tt.say) {
					t.Errorf("got %v, want %q and %v", err, tt.say, tt.drain)
				}
			}
		})
	}
}

func TestHAProxyMaintenanceOfTheOperatorStays(t *testing.T) {
	h := startHAProxy(t, "runtime-api.cfg", nil, nil, nil)
	s := &haproxy.RuntimeAPI{Addr: "127.0.0.1:" + h.admin, Backend: "be", Server: "a"}
	h.ask(t, "set server be/a state maint")
	if err := errors.Join(s.Drain(t.Context(), time.Second), s.Ready(t.Context())); err != nil {
		t.Fatal(err)
	}
	before := h.a.marked.Load()
	h.calls(t, 100, http.MethodGet)
	if n := h.a.marked.Load() - before; n != 0 {
		t.Errorf("%d of 100 requests reached a server in maintenance", n)
	}
	h.ask(t, "set server be/a state ready")
	h.serving(t)
}

// If the last server drained, HAProxy would answer 503.
func TestHAProxyServesWhileTheOtherReplicaIsDown(t *testing.T) {
	h := startHAProxy(t, "runtime-api.cfg", nil, nil, nil)
	s := &haproxy.RuntimeAPI{Addr: "127.0.0.1:" + h.admin, Backend: "be", Server: "a"}
	h.load(t)
	h.ask(t, "set server be/b state maint")
	if err := s.Drain(t.Context(), time.Second); !errors.Is(err, haproxy.ErrLastServer) {
		t.Errorf("got %v, want %v", err, haproxy.ErrLastServer)
	}
	h.calls(t, 100, http.MethodGet)
	h.ask(t, "set server be/b state ready")
	if err := s.Drain(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
}

func TestHAProxyRunsNoPostTwice(t *testing.T) {
	h := startHAProxy(t, "runtime-api.cfg", nil, nil, nil)
	h.runsOnce(t, h.a, h.b)
}

// A process was killed while it was drained, and runs without a gate now. A peer with a gate puts
// it back.
func TestHAProxyPutsBackWhoWasLeftDrained(t *testing.T) {
	h := startHAProxy(t, "runtime-api.cfg", nil, nil, nil)
	h.serving(t)
	killed := &haproxy.RuntimeAPI{Addr: "127.0.0.1:" + h.admin, Backend: "be", Server: "a"}
	if err := killed.Drain(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	before := h.a.ran.Load()
	h.calls(t, 100, http.MethodGet)
	if n := h.a.ran.Load() - before; n != 0 {
		t.Fatalf("%d of 100 requests reached the drained replica", n)
	}
	h.load(t)
	began := time.Now()
	startGated(t, gatedSetup{Name: "b", Turns: filepath.Join(t.TempDir(), "turn"), HAProxy: "127.0.0.1:" + h.admin +
		",be/b"})
	h.serving(t)
	t.Logf("it gets requests again %v after the peer began to start", time.Since(began))
}
