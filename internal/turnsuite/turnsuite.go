// Package turnsuite tests implementations of gcgate.Turns. [Check] is for all of them. [Suite] is
// for turns by leases of a server: a holder or a server that dies, and lost messages.
package turnsuite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
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

type Options struct {
	Group  string
	Holder string
	K      int
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
		Check(t, k, func(group string) gcgate.Turns {
			return a.New(t, Options{Group: fmt.Sprint(group, k), K: k, TTL: time.Minute})
		})
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
	Release(t, l)
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

func (s Suite) serverDiesForRelease(t *testing.T) {
	a := s.Start(t)
	turns := a.New(t, Options{TTL: time.Minute})
	l := Take(t, turns)
	a.Down(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	WantNoAnswer(t, l.Release(ctx))
	Release(t, l)
	a.Up(t)
	Release(t, Take(t, turns)) // its stale lease does not prevent it
	WantNotLost(t, l)
}

// unheard loses messages in one direction. The TTL is too long to free the turn.
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

// LogIsTheGates tests that turns log to the gate's logger. log returns where they log to.
func LogIsTheGates(t *testing.T, turns Turns, log func() *slog.Logger) {
	t.Helper()
	heap := gcgatetest.NewHeap()
	heap.Rate = 1 // it never collects
	g, err := gcgate.Start(t.Context(), gcgate.Options{
		Policy: gcgate.PolicyThrough, Turns: turns, Collector: heap, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if log() != g.Logger() {
		t.Error("they do not log where the gate does")
	}
	if err := g.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

const (
	childAddr = "TURNSUITE_CHILD"
	childTTL  = "TURNSUITE_TTL"
)

// Child makes this process a holder of the turn until it is killed, if a test has started it for
// that. Call it first in TestMain.
func Child(open func(addr string, ttl time.Duration) (Turns, error)) {
	addr := os.Getenv(childAddr)
	if addr == "" {
		return
	}
	fail := func(err error) {
		fmt.Println(err)
		os.Exit(1)
	}
	ttl, err := time.ParseDuration(os.Getenv(childTTL))
	if err != nil {
		fail(err)
	}
	turns, err := open(addr, ttl)
	if err != nil {
		fail(err)
	}
	go func() {
		end := time.Now().Add(Patience + ttl)
		l, err := turns.TryAcquire(context.Background())
		for err != nil && time.Now().Before(end) { // a busy machine may be too slow for the TTL
			time.Sleep(lookTick)
			l, err = turns.TryAcquire(context.Background())
		}
		if err != nil {
			fail(err)
		}
		fmt.Println("held")
		<-l.Lost()
		fmt.Println("lost")
	}()
	io.Copy(io.Discard, os.Stdin) // ends with the parent
	os.Exit(1)
}

func (s Suite) holderDies(t *testing.T) {
	s.parallel(t)
	a := s.Shared(t)
	for ttl := 5 * time.Second; !holderDies(t, a, ttl); ttl *= 2 {
		t.Logf("the child lost a turn with a TTL of %v", ttl)
		if ttl >= 40*time.Second {
			t.Fatal("no child kept its turn")
		}
	}
}

// holderDies reports whether a child held the turn until it was killed.
func holderDies(t *testing.T, a Arbiter, ttl time.Duration) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childAddr+"="+a.Addr(), childTTL+"="+ttl.String())
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	said := bufio.NewReader(stdout)
	if line, err := said.ReadString('\n'); line != "held\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	lost := make(chan struct{})
	go func() {
		if line, _ := said.ReadString('\n'); line == "lost\n" {
			close(lost)
		}
	}()
	turns := a.New(t, Options{})
	for renewed := a.Renewed(t); !renewed(); time.Sleep(50 * time.Millisecond) {
		l, err := TryAcquire(turns)
		if err != nil {
			continue
		}
		select {
		case <-lost:
		case <-time.After(Patience):
			t.Fatal("two have the turn: the child did not say that it has lost it")
		}
		Release(t, l)
		return false
	}
	cmd.Process.Kill()
	killed := time.Now()
	Release(t, TakeWithin(t, turns, ttl+Patience))
	t.Logf("free %v after the kill, TTL %v", time.Since(killed).Round(time.Millisecond), ttl)
	return true
}
