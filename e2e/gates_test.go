//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/examples/child"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/gcgate/haproxy"
	"evenkeel.dev/gcgate/health"
	"evenkeel.dev/gcgate/httpgate"
	"evenkeel.dev/internal/testutil"
)

// gatedEnv makes this binary a replica with a gate.
const gatedEnv = "EVENKEEL_E2E_GATED"

type gatedSetup struct {
	Name            string
	Shed            bool   // instead of Drain
	Turns           string // path; "": none
	Health          *struct{ Fall, Rise int }
	InAnswers       bool          // tell the balancer in answers
	Mark            time.Duration // length of a collection; 0: a real one, of a tiny heap
	HAProxy         string        // as haproxy.ParseRuntimeAPI reads it
	AnnounceTimeout time.Duration
	Wake            time.Duration // what the first request after a pause of wakeAfter takes
}

const wakeAfter = 900 * time.Millisecond

type gatedStats struct {
	Polls                                             int64
	Collections, Announced, Overlapped, IgnoredDrains uint64
}

// runGated serves / behind the gate, /health, /collect and /stats.
func runGated(setup string) error {
	var s gatedSetup
	if err := json.Unmarshal([]byte(setup), &s); err != nil {
		return err
	}
	o := gcgate.Options{
		Policy: gcgate.PolicyDrain, AnnounceTimeout: s.AnnounceTimeout, Period: -1,
		MemoryLimitBytes: math.MaxInt64,
		Logger:           slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if s.Shed {
		o.Policy = gcgate.PolicyShed
	}
	if o.DisableTurns = s.Turns == ""; !o.DisableTurns {
		o.Turns = gcgate.FileTurns{Path: s.Turns}
	}
	if s.Mark > 0 {
		heap := gcgatetest.NewHeap()
		heap.Rate, heap.Mark = 0, s.Mark
		o.Collector = heap
	}
	mux := http.NewServeMux()
	var polls atomic.Int64
	var wrap httpgate.Options
	if s.Health != nil {
		h := &health.Handler{Fall: s.Health.Fall, Rise: s.Health.Rise, InAnswers: s.InAnswers}
		if s.InAnswers {
			wrap.EnvoyFail = h.Draining
		}
		o.Signals = append(o.Signals, h)
		mux.HandleFunc("/health", func(w http.ResponseWriter, r *http.Request) {
			polls.Add(1)
			h.ServeHTTP(w, r)
		})
	}
	if s.HAProxy != "" {
		h, err := haproxy.ParseRuntimeAPI(s.HAProxy)
		if err != nil {
			return err
		}
		o.Signals = append(o.Signals, h)
	}
	g, err := gcgate.Start(context.Background(), o)
	if err != nil {
		return err
	}
	mux.HandleFunc("/collect", func(_ http.ResponseWriter, r *http.Request) { g.Collect(r.Context()) })
	mux.HandleFunc("/stats", func(w http.ResponseWriter, _ *http.Request) {
		now := g.Stats()
		json.NewEncoder(w).Encode(gatedStats{
			polls.Load(),
			now.Collections[gcgate.ReasonRequested], now.Phases[gcgate.StateAnnouncing].Count, now.Overlapped,
			now.IgnoredDrains,
		})
	})
	m := httpgate.New(g, wrap)
	var last atomic.Int64
	mux.Handle("/", m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if now := time.Now().UnixNano(); now-last.Swap(now) > int64(wakeAfter) {
			time.Sleep(s.Wake)
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", s.Name, r.Method, body)
	})))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("listening on", l.Addr())
	return http.Serve(l, mux)
}

type gated struct {
	*child.Child
	*replica
	client http.Client
}

func startGated(t *testing.T, s gatedSetup) *gated {
	t.Helper()
	setup, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	p, addr := start(t, regexp.MustCompile(`^listening on (\S+)`), "/usr/bin/env", gatedEnv+"="+string(setup),
		os.Args[0])
	g := &gated{Child: p, replica: &replica{port: portOnly(addr)}, client: http.Client{Timeout: time.Minute}}
	t.Cleanup(g.client.CloseIdleConnections)
	return g
}

// get does not go through the balancer.
func (g *gated) get(t *testing.T, path string) []byte {
	t.Helper()
	resp, err := g.client.Get("http://127.0.0.1:" + g.port + path)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return b
}

func (g *gated) stats(t *testing.T) (s gatedStats) {
	t.Helper()
	if err := json.Unmarshal(g.get(t, "/stats"), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// polled waits for n polls.
func (g *gated) polled(t *testing.T, n int64) {
	t.Helper()
	was := g.stats(t).Polls
	eventually(t, fmt.Sprintf("%d polls", n), func() bool { return g.stats(t).Polls >= was+n })
}

// together has both replicas collect at once, while requests come by c. It returns how many were
// sent.
func together(t *testing.T, c *caller, rounds int, replicas [2]*gated, meanwhile func()) int64 {
	t.Helper()
	var sent, failed atomic.Int64
	stop := make(chan struct{})
	var load, asked sync.WaitGroup
	for range 2 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				sent.Add(1)
				if err := c.call(http.MethodGet, ""); err != nil && failed.Add(1) == 1 {
					t.Error(err)
				}
				time.Sleep(loadPause) // gates see that they are back in service by their requests
			}
		})
	}
	for range rounds {
		for _, g := range replicas {
			asked.Go(func() { g.get(t, "/collect") })
		}
		asked.Wait()
	}
	if meanwhile != nil {
		meanwhile()
	}
	was := sent.Load()
	eventually(t, "more requests", func() bool { return sent.Load() > was+20 })
	close(stop)
	load.Wait()
	t.Logf("%d of %d requests failed", failed.Load(), sent.Load())
	if failed.Load() > 0 {
		t.Errorf("%d of %d requests failed", failed.Load(), sent.Load())
	}
	for _, g := range replicas {
		if n := g.stats(t).Collections; n != uint64(rounds) {
			t.Errorf("%d collections, want %d", n, rounds)
		}
	}
	return sent.Load()
}

// wide is longer than a stall of the machine.
const wide = 10 * time.Second

// rounds returns a third of n, or n in make check.
func rounds(n int) int {
	if testutil.Checking() {
		return n
	}
	return max(n/3, 1)
}

// TestHAProxyTwoAtOnce has two replicas collect at once, time and again. No request fails, however
// HAProxy polls. If its polls are too slow, the log says so.
func TestHAProxyTwoAtOnce(t *testing.T) {
	t.Parallel()
	const line = "check inter 10ms fastinter 10ms downinter 10ms rise 1 fall 1"
	type options struct{ Fall, Rise int }
	for _, c := range []struct {
		name   string
		health options
		line   string // instead of line
		says   bool   // keep http-check send-state
		within time.Duration
		rounds int
		polls  int64  // to wait for
		silent string // the log says so; "": the signal is used
		long   bool   // only in make check
	}{
		{"as deployed", options{}, line, true, wide, 30, 0, "", false},
		{
			"as deployed, and wrong options",
			options{1, 1},
			"check inter 10ms fall 4 rise 6", true, wide, 10, 0, "",
			true,
		},
		{"defaults for fall and rise", options{}, "check inter 10ms", false, wide, 15, 0, "", true},
		{"wrong options", options{1, 1}, "check inter 10ms fall 1 rise 6", false, wide, 10, 0, "", true},
		{
			"slow while down",
			options{1, 1},
			"check inter 10ms downinter 500ms fall 1 rise 2", false, wide, 2, 0, "",
			true,
		},
		{"every 500 ms", options{}, "check inter 500ms fall 1 rise 1", false, 0, 30, 3, "cannot be used now", false},
		{"all defaults", options{}, "check", true, 0, 30, 2, "cannot be used now", false}, // every 2 s
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // mostly they wait
			if c.long {
				testutil.Long(t, "it polls for many seconds; gcgate/health has the like in a model's time")
			}
			s := gatedSetup{
				Turns: filepath.Join(t.TempDir(), "turn"), AnnounceTimeout: c.within,
				Health: (*struct{ Fall, Rise int })(&c.health),
			}
			h, replicas := startGatedHAProxy(t, "health.cfg", s, s, func(text string) string {
				text = replace(t, text, line, c.line)
				if !c.says {
					text = replace(t, text, "    http-check send-state\n", "")
				}
				return text
			})
			h.twoAtOnce(t, replicas, rounds(c.rounds), c.polls, c.silent)
		})
	}
}

func TestHAProxyTwoAtOnceByRuntimeAPI(t *testing.T) {
	t.Parallel()
	admin := freeServerPort(t)
	s := gatedSetup{Turns: filepath.Join(t.TempDir(), "turn"), AnnounceTimeout: wide}
	a, b := s, s
	a.HAProxy, b.HAProxy = "127.0.0.1:"+admin+",be/a", "127.0.0.1:"+admin+",be/b"
	h, replicas := startGatedHAProxy(t, "runtime-api.cfg", a, b, nil)
	h.twoAtOnce(t, replicas, rounds(30), 0, "")
}

// TestHAProxyServesWhenAllAreOut tests the backup servers. RuntimeAPI does not drain the last one.
func TestHAProxyServesWhenAllAreOut(t *testing.T) {
	t.Parallel()
	s := new(health.Handler)
	h := startHAProxy(t, "health.cfg", func(text string) string {
		return replace(t, text, `server b "127.0.0.1:${B_PORT}"`, `server b "127.0.0.1:1"`)
	}, s, nil)
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.load(t)
	for range 3 {
		if err := s.Drain(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
		h.calls(t, 100, http.MethodGet)
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHAProxyServesWhenOneDiesBesideADrain kills a replica while the other one is drained.
func TestHAProxyServesWhenOneDiesBesideADrain(t *testing.T) {
	t.Parallel()
	h := startHAProxy(t, "runtime-api.cfg", nil, nil, nil)
	s := &haproxy.RuntimeAPI{Addr: "127.0.0.1:" + h.admin, Backend: "be", Server: "a"}
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.serving(t)
	if err := s.Drain(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	h.calls(t, 100, http.MethodGet)
	h.b.kill()
	h.calls(t, 100, http.MethodGet)
	if err := s.Drain(t.Context(), time.Second); !errors.Is(err, haproxy.ErrLastServer) {
		t.Errorf("Drain beside one that is down: %v, want ErrLastServer", err)
	}
	h.calls(t, 100, http.MethodGet)
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func startGatedHAProxy(t *testing.T, config string, a, b gatedSetup, edit func(string) string) (*haproxyServer,
	[2]*gated,
) {
	t.Helper()
	server(t, "haproxy")
	a.Name, b.Name = "a", "b"
	h := &haproxyServer{}
	if addr, _, ok := strings.Cut(a.HAProxy, ","); ok {
		h.admin = portOnly(addr)
	}
	replicas := [2]*gated{startGated(t, a), startGated(t, b)}
	h.a, h.b = replicas[0].replica, replicas[1].replica
	h.run(t, config, func(text string) string {
		// the backups
		text = regexp.MustCompile(`(?m)^ *server \S+-anyway .*\n`).ReplaceAllString(text, "")
		if edit != nil {
			text = edit(text)
		}
		return text
	})
	return h, replicas
}

func replace(t *testing.T, text, old, by string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("the configuration has no %q", old)
	}
	return strings.Replace(text, old, by, 1)
}

// twoAtOnce is together, and looks whether the signal was used.
func (h *haproxyServer) twoAtOnce(t *testing.T, replicas [2]*gated, rounds int, polls int64, silent string) {
	t.Helper()
	if silent == "" && h.admin == "" {
		for _, g := range replicas {
			g.polled(t, 20) // until the pace is known
		}
	}
	together(t, h.caller, rounds, replicas, func() {
		for _, g := range replicas {
			if polls > 0 {
				g.polled(t, polls)
			}
		}
	})
	for _, g := range replicas {
		s := g.stats(t)
		_, log := g.Output()
		switch {
		case silent == "" && s.Announced < uint64(rounds):
			t.Errorf("%d of %d collections were announced", s.Announced, rounds)
		case silent != "" && (s.Announced > 0 ||
			strings.Count(log, silent) != 1 || !strings.Contains(log, "let it poll more often") &&
			!strings.Contains(log, "no polls")):
			t.Errorf("%d collections were announced by slow polls, or the log does not say once that %q:\n%s",
				s.Announced, silent, log)
		}
	}
}

// TestNginxTwoAtOnce is the same behind nginx, which leaves a replica out for up to two seconds,
// and then until the first request to it is answered.
func TestNginxTwoAtOnce(t *testing.T) {
	server(t, "nginx")
	t.Parallel()
	s := gatedSetup{Shed: true, Turns: filepath.Join(t.TempDir(), "turn"), Wake: 300 * time.Millisecond}
	a, b := s, s
	a.Name, b.Name = "a", "b"
	replicas := [2]*gated{startGated(t, a), startGated(t, b)}
	n := 2
	if testutil.Checking() {
		n = 30
	}
	together(t, startNginx(t, replicas[0].replica, replicas[1].replica), n, replicas, nil)
}
