package etcdturn_test

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"evenkeel.dev/contrib/etcdturn"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/turnsuite"
)

func verifyNoLeak(t testing.TB, ignore goleak.Option) {
	t.Helper()
	if err := leaks.Goroutines(ignore); err != nil {
		t.Error(err)
	}
}

// verifyNoneOfOurs waits until no goroutine runs a method of this package, or was started by one.
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

// TestTurns runs the suite of turns by leases of a server.
func TestTurns(t *testing.T) {
	turnsuite.Suite{
		Start:  func(t testing.TB) turnsuite.Arbiter { return &arbiter{server: newServer(t)} },
		Shared: func(t testing.TB) turnsuite.Arbiter { return &arbiter{server: sharedServer(t)} },
		Closed: etcdturn.ErrClosed, MaxK: 64,
		Nowhere: func(t testing.TB) turnsuite.Turns {
			// A port that is free now may be in use soon, so it is one that nobody uses.
			return newTurns(t, etcdturn.Options{Endpoints: []string{"127.0.0.1:1"}})
		},
	}.Run(t)
}

// arbiter is a server as the suite wants one.
type arbiter struct {
	*server
	way *proxy // to the server, of the turns that are far; nil: none yet
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

// newTurns returns Turns in group g that are closed when the test ends. Their TTL is so long that
// no stall of a busy machine ends a turn, unless o has another.
func newTurns(t testing.TB, o etcdturn.Options) *etcdturn.Turns {
	t.Helper()
	if o.TTL == 0 {
		o.TTL = time.Minute
	}
	if o.Group == "" {
		o.Group = "g"
	}
	o.Logger = quiet
	turns, err := etcdturn.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { turns.Close() })
	return turns
}
