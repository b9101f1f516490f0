package haproxy

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/internal/testutil"
)

// TestDrainThatCannotHaveReachedHAProxy differs from one whose answer was lost.
func TestDrainThatCannotHaveReachedHAProxy(t *testing.T) {
	two := []server{{name: "a", op: 2, weight: 1}, {name: "b", op: 2, weight: 1}}
	lost := &fakeHAProxy{servers: two, level: "admin"}
	for _, tt := range []struct {
		name      string
		answer    func(string) string // nil: nothing listens
		backend   string
		unreached bool
	}{
		{"nothing there", nil, "be", true},
		{"level operator", (&fakeHAProxy{servers: two, level: "operator"}).answer, "be", true},
		{"no backend", (&fakeHAProxy{servers: two, level: "admin"}).answer, "bee", true},
		{"no server", (&fakeHAProxy{servers: two[1:], level: "admin"}).answer, "be", true},
		{"no HAProxy", func(string) string { return "" }, "be", true},
		{"the answer is lost", func(line string) string {
			answer := lost.answer(line)
			if strings.HasPrefix(line, setCommand) {
				return ""
			}
			return answer
		}, "be", false},
	} {
		h := &RuntimeAPI{Addr: "127.0.0.1:1", Backend: tt.backend, Server: "a"}
		if tt.answer != nil {
			h.Addr = serveFake(t, "tcp", "127.0.0.1:0", tt.answer)
		}
		if err := h.Drain(t.Context(), time.Second); err == nil || errors.Is(err, gcgate.ErrUnreached) != tt.unreached {
			t.Errorf("%s: %v: unreached: %v, want %v", tt.name, err, errors.Is(err, gcgate.ErrUnreached), tt.unreached)
		}
	}
}

// TestStartRefusesWhatCannotBeAnAddress, and starts where HAProxy does not answer.
func TestStartRefusesWhatCannotBeAnAddress(t *testing.T) {
	for _, tt := range []struct {
		signal gcgate.Signal
		says   string // "": it starts
	}{
		{&RuntimeAPI{Backend: "be", Server: "a"}, "is not the address of a stats socket"},
		{&RuntimeAPI{Addr: "unix:", Backend: "be", Server: "a"}, "has no path"},
		{&RuntimeAPI{Addr: "127.0.0.1:1", Server: "a"}, "is not a name of a backend or server"},
		{&AgentCheck{Pollers: -1}, "AgentCheck.Pollers"},
		{&RuntimeAPI{Addr: "127.0.0.1:1", Backend: "be", Server: "a"}, ""},
		{&RuntimeAPI{Addr: "unix:" + t.TempDir() + "/missing", Backend: "be", Server: "a"}, ""},
	} {
		g, err := gcgate.Start(t.Context(), gcgate.Options{
			Signals: []gcgate.Signal{tt.signal}, Turns: &oneTurn{},
			Collector: gcgatetest.NewHeap(), Logger: slog.New(slog.DiscardHandler),
		})
		if err == nil {
			g.Stop(t.Context())
		}
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v: %v, want %q", tt.signal, err, tt.says)
		}
	}
}

// oneTurn is a turn for gates of this process.
type oneTurn struct{ mu sync.Mutex }

func (o *oneTurn) TryAcquire(context.Context) (gcgate.Lease, error) {
	if !o.mu.TryLock() {
		return nil, gcgate.ErrHeld
	}
	return o, nil
}

func (o *oneTurn) Lost() <-chan struct{} { return nil }

func (o *oneTurn) Release(context.Context) error {
	o.mu.Unlock()
	return nil
}

// TestWrongNameHoldsNobodyUp: a replica whose server's name is wrong, or one of whose HAProxy
// processes is not there, leaves the turn to the others.
func TestWrongNameHoldsNobodyUp(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	two := &fakeHAProxy{servers: []server{{name: "a", op: 2, weight: 1}, {name: "b", op: 2, weight: 1}}, level: "admin"}
	addr := serveFake(t, "tcp", "127.0.0.1:0", two.answer)
	at := func(addr, server string) *RuntimeAPI {
		return &RuntimeAPI{Addr: addr, Backend: "be", Server: server, DisableMending: true}
	}
	for _, tt := range []struct {
		name string
		a    []gcgate.Signal
	}{
		{"wrong name", []gcgate.Signal{at(addr, "wrong")}},
		{"the second is not there", []gcgate.Signal{at(addr, "a"), at("127.0.0.1:1", "a")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			turn := &oneTurn{}
			gate := func(signals []gcgate.Signal) *gcgate.Gate {
				heap := gcgatetest.NewHeap()
				heap.Rate = 0 // it collects when it is asked to
				g, err := gcgate.Start(t.Context(), gcgate.Options{
					Signals: signals, Turns: turn, Collector: heap, Logger: slog.New(slog.DiscardHandler),
				})
				if err != nil {
					t.Fatal(err)
				}
				return g
			}
			a, b := gate(tt.a), gate([]gcgate.Signal{at(addr, "b")})
			defer b.Stop(t.Context())
			defer a.Stop(t.Context())
			for range 2 {
				for _, g := range []*gcgate.Gate{a, b} {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					if err := g.Collect(ctx); err != nil {
						t.Fatal(err)
					}
				}
			}
			if s := b.Stats(); s.WithoutTurn > 0 {
				t.Errorf("the other replica collected without the turn: %+v", s)
			}
		})
	}
}
