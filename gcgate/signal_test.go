package gcgate_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/gcgate"
)

// ownSignal is a signal as a user writes one, with all that a built-in one can do.
type ownSignal struct {
	mu     sync.Mutex
	gate   *gcgate.Gate  // guarded by mu
	within time.Duration // that CanConfirm was asked for; guarded by mu
	refuse error         // of CanConfirm; guarded by mu
	calls  []string      // guarded by mu
	seen   uint32        // requests, when Drain was called; guarded by mu
	safe   bool
}

var (
	_ gcgate.Attacher  = (*ownSignal)(nil)
	_ gcgate.Confirmer = (*ownSignal)(nil)
	_ gcgate.Describer = (*ownSignal)(nil)
)

func (s *ownSignal) Attach(g *gcgate.Gate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = g
	g.Requests() // works already
}

func (s *ownSignal) CanConfirm(within time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.within = within
	return s.refuse
}

func (s *ownSignal) Describe() gcgate.Description {
	return gcgate.Description{SafeWithoutTurn: s.safe}
}

func (s *ownSignal) Drain(context.Context, time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, "drain")
	_, s.seen = s.gate.Requests()
	return nil
}

func (s *ownSignal) Ready(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, "ready")
	return nil
}

func (s *ownSignal) String() string { return "own signal" }

// logText is a logger for several goroutines.
type logText struct {
	mu sync.Mutex
	b  bytes.Buffer
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

// TestUsersSignal: what the gate needs of a signal beyond Drain and Ready, a user's has too.
func TestUsersSignal(t *testing.T) {
	s, l := &ownSignal{}, &logText{}
	g, err := gcgate.Start(t.Context(), gcgate.Options{
		Policy: gcgate.PolicyDrain, Signals: []gcgate.Signal{s}, DisableTurns: true, Period: -1,
		AnnounceTimeout: 10 * time.Second,
		Logger:          slog.New(slog.NewTextHandler(l, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Stop(t.Context())
	for range 3 {
		g.Enter().Exit()
	}
	collect := func() []string {
		t.Helper()
		if err := g.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		calls := s.calls
		s.calls = nil
		return calls
	}
	if calls := collect(); !slices.Contains(calls, "drain") || s.within != 10*time.Second || s.seen != 3 {
		t.Errorf("calls %q, asked for %v, saw %d requests; want a drain, AnnounceTimeout, 3", calls, s.within, s.seen)
	}
	s.mu.Lock()
	s.refuse = errors.New("the peer sleeps: wake it")
	s.mu.Unlock()
	for range 3 {
		if calls := collect(); slices.Contains(calls, "drain") {
			t.Errorf("calls %q: it was announced through a signal that cannot be used", calls)
		}
	}
	s.mu.Lock()
	s.refuse = nil
	s.mu.Unlock()
	for n := 0; !slices.Contains(collect(), "drain"); n++ { // once its last Ready has come true
		if time.Sleep(10 * time.Millisecond); n == 1000 {
			t.Fatal("the signal is not used again")
		}
	}
	for _, want := range []string{`signal="own signal" error="the peer sleeps: wake it"`, "used again"} {
		if strings.Count(l.String(), want) != 1 {
			t.Errorf("the log does not say %q once:\n%s", want, l)
		}
	}
}

// heldTurns are always another's.
type heldTurns struct{}

func (heldTurns) TryAcquire(context.Context) (gcgate.Lease, error) { return nil, gcgate.ErrHeld }

// TestStartWantsTurns: replicas that are out at once leave none to serve.
func TestStartWantsTurns(t *testing.T) {
	for _, c := range []struct {
		name    string
		options gcgate.Options
		says    string // "" for no error
	}{
		{"own signal", gcgate.Options{Signals: []gcgate.Signal{&ownSignal{}}}, `signal "own signal" needs them`},
		{
			"own signal, policy drain",
			gcgate.Options{Policy: gcgate.PolicyDrain, Signals: []gcgate.Signal{&ownSignal{}}},
			`signal "own signal" needs them`,
		},
		{
			"one of two",
			gcgate.Options{Signals: []gcgate.Signal{&ownSignal{safe: true}, &ownSignal{}}},
			`signal "own signal" needs them`,
		},
		{"shed", gcgate.Options{Policy: gcgate.PolicyShed}, "PolicyShed needs them"},
		{"one that needs no turn", gcgate.Options{Signals: []gcgate.Signal{&ownSignal{safe: true}}}, ""},
		{
			"turns",
			gcgate.Options{Policy: gcgate.PolicyShed, Signals: []gcgate.Signal{&ownSignal{}}, Turns: heldTurns{}},
			"",
		},
		{
			"the only one to announce itself",
			gcgate.Options{Signals: []gcgate.Signal{&ownSignal{}}, DisableTurns: true},
			"",
		},
		{
			"a signal that is not used",
			gcgate.Options{Policy: gcgate.PolicyThrough, Signals: []gcgate.Signal{&ownSignal{}}},
			"",
		},
		{"both", gcgate.Options{Turns: heldTurns{}, DisableTurns: true}, "leave one of them out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.options.Logger, c.options.Period = slog.New(slog.DiscardHandler), -1
			g, err := gcgate.Start(t.Context(), c.options)
			if err == nil {
				defer g.Stop(t.Context())
			}
			var oe *evenkeel.OptionError
			refused := errors.As(err, &oe)
			if refused != (c.says != "") ||
				refused && (oe.Option != "Turns" || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("got %v, want an error with %q", err, c.says)
			}
			if strings.Contains(c.says, "needs them") && !(strings.Contains(err.Error(), "gcgate.FileTurns") &&
				strings.Contains(err.Error(), "DisableTurns")) {
				t.Errorf("it does not say what to do: %v", err)
			}
		})
	}
}
