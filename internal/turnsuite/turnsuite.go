// Package turnsuite tests implementations of gcgate.Turns. [Check] is for all of them. [Suite] is
// for turns by leases of a server: a holder or a server that dies, and lost messages.
package turnsuite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/internal/leaks"
)

// Turns are what both packages have.
type Turns interface {
	gcgate.Turns
	Check(context.Context) error
	Close() error
}

// Options are those of Turns.
type Options struct {
	Group  string        // "": a common one
	Holder string        // "": the default
	K      int           // 0: the default
	TTL    time.Duration // 0: the default of the package's tests
	Far    bool          // for Arbiter.Hold
}

// An Arbiter is a server with the leases.
type Arbiter interface {
	New(testing.TB, Options) Turns // closed at the end of the test
	Addr() string                  // for [Child]
	Down(testing.TB)               // ends it as a crash does
	Up(testing.TB)                 // starts it again with its data

	// Hold holds back requests, or the answers to those that were carried out, from now on.
	Hold(requests, answers bool)

	// Renewed returns a function that reports whether the one turn was renewed.
	Renewed(testing.TB) func() bool
}

// A Suite is what the tests need of a package.
type Suite struct {
	Start    func(testing.TB) Arbiter // for this test alone
	Shared   func(testing.TB) Arbiter // without leases; the test does not end it
	Nowhere  func(testing.TB) Turns   // of an address where nothing listens
	MaxK     int
	Parallel bool // run the tests that wait at the same time
}

func (s Suite) parallel(t *testing.T) {
	if s.Parallel {
		t.Parallel()
	}
}

// Run runs the tests.
func (s Suite) Run(t *testing.T) {
	s.parallel(t)
	t.Run("Check", s.check)
	t.Run("NobodyThere", s.nobodyThere)
	t.Run("Holder", s.holder)
	t.Run("ManySlots", s.manySlots)
	t.Run("CloseLeavesNothing", s.closeLeavesNothing)
	t.Run("ServerRestarts", s.serverRestarts)
	t.Run("ServerDiesForRelease", s.serverDiesForRelease)
	t.Run("ServerDies", s.serverDies)
	t.Run("HolderDies", s.holderDies)
	t.Run("Unheard", s.unheard)
}

func (s Suite) check(t *testing.T) {
	a := s.Shared(t)
	for _, k := range []int{1, 2} {
		if err := Check(t.Context(), k, func(group string) (gcgate.Turns, error) {
			return a.New(t, Options{Group: fmt.Sprint(group, k), K: k, TTL: time.Minute}), nil
		}); err != nil {
			t.Error(err)
		}
	}
}

func (s Suite) nobodyThere(t *testing.T) {
	turns := s.Nowhere(t)
	WantNoAnswer(t, TryBriefly(t, turns))
	WantNoAnswer(t, turns.Check(t.Context()))
	done := make(chan error)
	go func() { // Close ends a TryAcquire that waits
		_, err := turns.TryAcquire(context.Background())
		done <- err
	}()
	time.Sleep(20 * time.Millisecond)
	if err := turns.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	wantClosed := func(err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "closed: make new Turns") {
			t.Errorf("TryAcquire: %v, want an error that says that it is closed", err)
		}
	}
	wantClosed(<-done)
	_, err := turns.TryAcquire(t.Context())
	wantClosed(err)
	if err := turns.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// holder tests that the error names the holder.
func (s Suite) holder(t *testing.T) {
	arbiter := s.Shared(t)
	a, b := arbiter.New(t, Options{Holder: "replica a"}), arbiter.New(t, Options{})
	if err := a.Check(t.Context()); err != nil { // no lease yet
		t.Errorf("Check: %v", err)
	}
	l := Take(t, a)
	WantHeld(t, a)
	if _, err := TryAcquire(b); !errors.Is(err, gcgate.ErrHeld) || !strings.Contains(err.Error(), "replica a") {
		t.Errorf("TryAcquire: %v, want ErrHeld that names the holder", err)
	}
	Release(t, l)
	Release(t, l) // idempotent
}

func (s Suite) manySlots(t *testing.T) {
	a := s.Shared(t)
	for range s.MaxK {
		Take(t, a.New(t, Options{K: s.MaxK}))
	}
	WantHeld(t, a.New(t, Options{K: s.MaxK}))
}

func (s Suite) closeLeavesNothing(t *testing.T) {
	a := s.Shared(t)
	for range 3 {
		t.Run("", func(t *testing.T) {
			leaks.Test(t)
			turns := a.New(t, Options{TTL: time.Minute})
			l := Take(t, turns) // Close has released the one before
			if err := turns.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			WantLost(t, l)
			if err := l.Release(t.Context()); err != nil {
				t.Errorf("Release after Close: %v", err)
			}
		})
	}
}

// serverDies ends the server while a turn is held, and starts it again after the TTL.
func (s Suite) serverDies(t *testing.T) {
	s.parallel(t)
	a := s.Start(t)
	turns := a.New(t, Options{TTL: time.Second})
	l := Take(t, turns)
	a.Down(t)
	WantLost(t, l)
	for range 2 {
		start := time.Now()
		WantNoAnswer(t, TryBriefly(t, turns))
		if took := time.Since(start); took > Patience {
			t.Errorf("TryAcquire took %v beyond its deadline", took)
		}
	}
	if err := l.Release(t.Context()); err != nil { // nothing to release
		t.Errorf("Release of a lost turn: %v", err)
	}
	a.Up(t)
	Take(t, turns) // without release, which has only the TTL
}

// serverRestarts starts the server again within the TTL, so nothing is lost.
func (s Suite) serverRestarts(t *testing.T) {
	a := s.Start(t)
	turns := a.New(t, Options{TTL: time.Minute})
	l := Take(t, turns)
	a.Down(t)
	a.Up(t)
	WantHeld(t, a.New(t, Options{}))
	WantNotLost(t, l)
	Release(t, l)
	Release(t, Take(t, turns))
}

// serverDiesForRelease releases while the server is down. The lease then exists when it is up
// again.
func (s Suite) serverDiesForRelease(t *testing.T) {
	a := s.Start(t)
	turns := a.New(t, Options{TTL: time.Minute})
	l := Take(t, turns)
	a.Down(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	WantNoAnswer(t, l.Release(ctx))
	Release(t, l) // idempotent
	a.Up(t)
	Release(t, Take(t, turns)) // its stale lease does not prevent it
	WantNotLost(t, l)
}

// unheard loses messages in one direction while a turn is taken or released. The TTL is too long to
// free the turn.
func (s Suite) unheard(t *testing.T) {
	s.parallel(t)
	for _, tt := range []struct {
		name              string
		requests, answers bool
	}{
		{"request lost", true, false},
		{"answer lost", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := s.Shared(t)
			far, near := a.New(t, Options{TTL: time.Minute, Far: true}), a.New(t, Options{})
			Release(t, Take(t, far))
			Release(t, Take(t, near))
			try := func(do func(context.Context) error) {
				t.Helper()
				a.Hold(tt.requests, tt.answers)
				WantNoAnswer(t, Briefly(t, do))
				a.Hold(false, false)
			}
			t.Run("Release", func(t *testing.T) {
				try(Take(t, far).Release)
				Release(t, Take(t, near)) // freed in the background
				Release(t, Take(t, far))
			})
			t.Run("Release and take again", func(t *testing.T) {
				try(Take(t, far).Release)
				Release(t, Take(t, far))
			})
			t.Run("TryAcquire", func(t *testing.T) {
				try(func(ctx context.Context) error {
					for {
						_, err := far.TryAcquire(ctx)
						if err == nil || ctx.Err() != nil {
							return err
						}
					}
				})
				Release(t, Take(t, near))
				Release(t, Take(t, far))
			})
		})
	}
}

// LogIsTheGates tests that turns log to the gate's logger by default. open returns Turns with a
// logger, and where they log to.
func LogIsTheGates(t *testing.T, open func(*slog.Logger) (turns Turns, to func() *slog.Logger)) {
	t.Helper()
	for _, own := range []*slog.Logger{nil, slog.New(slog.DiscardHandler)} {
		turns, to := open(own)
		defer turns.Close()
		heap := gcgatetest.NewHeap()
		heap.Rate = 1 // it never collects
		g, err := gcgate.Start(t.Context(), gcgate.Options{
			Policy: gcgate.PolicyThrough, Turns: turns, Collector: heap, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := to(); (got == g.Logger()) != (own == nil) || own != nil && got != own {
			t.Errorf("with the logger %p it logs to %p; the gate's is %p", own, got, g.Logger())
		}
		if err := g.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
