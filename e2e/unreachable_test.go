//go:build unix

package e2e

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/gcgate/haproxy"
)

type logText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestHAProxyThatCannotBeReached has a balancer without the server, or one of two HAProxy processes
// gone. The other replica still collects by turns.
func TestHAProxyThatCannotBeReached(t *testing.T) {
	for _, c := range []struct {
		name   string
		server string
		second string // HAProxy: "", "absent", or "killed" after a drain
		says   string // in the first replica's log
	}{
		{"wrong name", "wrong", "", "no such server in this backend"},
		{"the second is not there", "a", "absent", "connection refused"},
		{
			"the second is killed after a drain", "a", "killed",
			"this replica holds the turn because a peer does not have it back",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := startHAProxy(t, "runtime-api.cfg", nil, nil, nil)
			at := func(port, server string) *haproxy.RuntimeAPI {
				return &haproxy.RuntimeAPI{
					Addr: "127.0.0.1:" + port, Backend: "be", Server: server,
					MendAfter: time.Hour,
				}
			}
			a, b := []gcgate.Signal{at(h.admin, c.server)}, []gcgate.Signal{at(h.admin, "b")}
			kill, rounds, announce := func() {}, 2, time.Duration(0)
			switch c.second {
			case "absent":
				a = append(a, at(freeServerPort(t), "a"))
			case "killed":
				second := &haproxyServer{
					a: h.a, b: h.b, admin: freeServerPort(t),
				}
				second.run(t, "runtime-api.cfg", nil)
				a, b = append(a, at(second.admin, "a")), append(b, at(second.admin, "b"))
				// it has acknowledged the drain
				kill, rounds, announce = sync.OnceFunc(second.Kill), 1, 10*time.Second
			}
			path := filepath.Join(t.TempDir(), "turn")
			logs := [2]*logText{{}, {}}
			var gates [2]*gcgate.Gate
			for i, signals := range [][]gcgate.Signal{a, b} {
				heap := gcgatetest.NewHeap()
				heap.Rate = 0 // collects only if asked
				g, err := gcgate.Start(t.Context(), gcgate.Options{
					Signals: signals, Turns: gcgate.FileTurns{Path: path}, Collector: heap,
					AnnounceTimeout: announce, Logger: slog.New(slog.NewTextHandler(logs[i], nil)),
					OnEvent: func(e gcgate.Event) {
						if i == 0 && e.State == gcgate.StateCollecting {
							kill()
						}
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					begin := time.Now()
					if err := g.Stop(context.Background()); err != nil || time.Since(begin) > signalTimeout/2 {
						t.Errorf("Stop: %v after %v", err, time.Since(begin))
					}
				})
				gates[i] = g
			}
			for range rounds {
				for i, g := range gates {
					ctx, cancel := context.WithTimeout(t.Context(), signalTimeout)
					defer cancel()
					if err := g.Collect(ctx); err != nil {
						t.Fatalf("replica %d: %v\n%s\n%s", i, err, logs[0], logs[1])
					}
				}
			}
			if s := gates[1].Stats(); s.WithoutTurn > 0 {
				t.Errorf("the other replica collected without the turn: %+v", s)
			}
			eventually(t, "the log says "+c.says, func() bool { return strings.Contains(logs[0].String(), c.says) })
			if c.second == "killed" {
				if log := logs[1].String(); !strings.Contains(log,
					"this replica cannot collect because another one has held the turn") ||
					!strings.Contains(log, "holder=") {
					t.Errorf("the other replica's log does not say who holds the turn:\n%s", log)
				}
			}
		})
	}
}
