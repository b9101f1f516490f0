package turnsuite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"evenkeel.dev/gcgate"
)

type broken struct {
	mu     *sync.Mutex
	held   *int
	most   int  // turns
	count  int  // TurnCount
	deaf   bool // ignores contexts
	loses  bool // each turn is lost at once
	fails  bool // Release fails
	forget bool // a second Release frees again
}

func (b broken) TurnCount() int { return b.count }

func (b broken) TryAcquire(ctx context.Context) (gcgate.Lease, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case ctx.Err() != nil && !b.deaf:
		return nil, ctx.Err()
	case *b.held >= b.most:
		return nil, gcgate.ErrHeld
	}
	*b.held++
	return &brokenLease{broken: b}, nil
}

type brokenLease struct {
	broken
	released bool
}

func (l *brokenLease) Lost() <-chan struct{} {
	lost := make(chan struct{})
	if l.loses {
		close(lost)
	}
	return lost
}

func (l *brokenLease) Release(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.released || l.forget {
		*l.held--
	}
	l.released = true
	if l.fails {
		return errors.New("no")
	}
	return nil
}

// failures are those of a test. A fatal one ends the goroutine.
type failures struct {
	testing.TB
	mu   sync.Mutex
	text string // guarded by mu
}

func (f *failures) Error(args ...any) { f.Errorf("%s", fmt.Sprint(args...)) }

func (f *failures) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text += fmt.Sprintf(format, args...) + "\n"
}

func (f *failures) Fatal(args ...any) { f.Fatalf("%s", fmt.Sprint(args...)) }

func (f *failures) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

// TestCheck tests that each defect is found.
func TestCheck(t *testing.T) {
	const first, second = "error <nil> of TryAcquire, want", "3 turns were held at once"
	for _, c := range []struct {
		broken
		ordered, random string // failures
	}{
		{broken{most: 2, count: 2}, "", ""},
		{broken{most: 2, count: 1}, "TurnCount is 1, want 2", ""},
		{broken{most: 3, count: 2}, first, second},
		{broken{most: 2, count: 2, deaf: true}, "with a context that is over", ""},
		{broken{most: 2, count: 2, loses: true}, "was lost although nothing", "was lost although nothing"},
		{broken{most: 2, count: 2, fails: true}, "a turn is not released: no", ""},
		{broken{most: 2, count: 2, forget: true}, first, ""},
	} {
		group := func(n int) []gcgate.Turns {
			b := c.broken
			b.mu, b.held = new(sync.Mutex), new(int)
			return slices.Repeat([]gcgate.Turns{b}, n)
		}
		found := func(check func(testing.TB)) string {
			f := &failures{TB: t}
			var running sync.WaitGroup
			running.Go(func() { check(f) })
			running.Wait()
			return f.text
		}
		want := func(is, want string) {
			if (is == "") != (want == "") || !strings.Contains(is, want) {
				t.Errorf("%+v: failures %q, want %q", c.broken, is, want)
			}
		}
		ordered := found(func(t testing.TB) { checkOrdered(t, 2, group(3), group(1)[0]) })
		random := found(func(t testing.TB) { checkRandom(t, 2, group(6)) })
		want(ordered, c.ordered)
		want(random, c.random)
	}
}
