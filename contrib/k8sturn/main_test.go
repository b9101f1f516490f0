package k8sturn_test

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	"evenkeel.dev/contrib/k8sturn"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/turnsuite"
)

func TestMain(m *testing.M) {
	turnsuite.Child(func(addr string, ttl time.Duration) (turnsuite.Turns, error) {
		return k8sturn.New(k8sturn.Options{URL: addr, Client: &http.Client{}, Group: "g", Duration: ttl})
	})
	leaks.Main(m)
}

func TestTurns(t *testing.T) {
	start := func(t testing.TB) turnsuite.Arbiter { return arbiter{newServer(t)} }
	turnsuite.Suite{
		Start: start, Shared: start, MaxK: 16, Parallel: true,
		Nowhere: func(t testing.TB) turnsuite.Turns {
			s := newServer(t)
			s.hold(true, false)
			return newTurns(t, s, k8sturn.Options{Duration: time.Second})
		},
	}.Run(t)
}

type arbiter struct{ s *server }

func (a arbiter) New(t testing.TB, o turnsuite.Options) turnsuite.Turns {
	t.Helper()
	return newTurns(t, a.s, k8sturn.Options{Group: o.Group, Holder: o.Holder, K: o.K, Duration: o.TTL})
}

func (a arbiter) Addr() string                { return a.s.url }
func (a arbiter) Down(testing.TB)             { a.s.down() }
func (a arbiter) Up(testing.TB)               { a.s.up() }
func (a arbiter) Hold(requests, answers bool) { a.s.hold(requests, answers) }

func (a arbiter) Renewed(testing.TB) func() bool {
	first := a.s.spec(lease0)["renewTime"]
	return func() bool { return a.s.spec(lease0)["renewTime"] != first }
}

var quiet = slog.New(slog.DiscardHandler)

func newTurns(t testing.TB, s *server, o k8sturn.Options) *k8sturn.Turns {
	t.Helper()
	if o.Group == "" {
		o.Group = "g"
	}
	if o.Client == nil {
		o.Client = &http.Client{Transport: &http.Transport{}}
	}
	o.URL = s.url
	turns, err := k8sturn.New(o)
	if err != nil {
		t.Fatal(err)
	}
	turns.LogTo(quiet)
	t.Cleanup(func() {
		turns.Close()
		o.Client.CloseIdleConnections()
	})
	return turns
}
