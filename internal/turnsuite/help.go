package turnsuite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/gcgate"
)

// Patience is longer than any wait that does not hang.
const Patience = 30 * time.Second

const lookTick = 10 * time.Millisecond

func TryAcquire(turns gcgate.Turns) (gcgate.Lease, error) {
	return ask(context.Background(), turns, Patience, false)
}

// Take takes the turn, and fails the test if that takes too long.
func Take(t testing.TB, turns gcgate.Turns) gcgate.Lease {
	t.Helper()
	return TakeWithin(t, turns, Patience)
}

func TakeWithin(t testing.TB, turns gcgate.Turns, bound time.Duration) gcgate.Lease {
	t.Helper()
	l, err := take(context.Background(), turns, bound)
	if err != nil {
		t.Fatalf("no turn after %v: %v", bound, err)
	}
	return l
}

// take takes a turn that is free, or will be when others have heard of it.
func take(ctx context.Context, t gcgate.Turns, bound time.Duration) (gcgate.Lease, error) {
	for end := time.Now().Add(bound); ; time.Sleep(lookTick) {
		l, err := ask(ctx, t, Patience, false)
		if err == nil || ctx.Err() != nil || time.Now().After(end) {
			return l, err
		}
	}
}

// Release releases the turn, or fails the test.
func Release(t testing.TB, l gcgate.Lease) {
	t.Helper()
	if err := release(context.Background(), l); err != nil {
		t.Fatal(err)
	}
}

func release(ctx context.Context, l gcgate.Lease) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	if err := l.Release(ctx); err != nil {
		return fmt.Errorf("a turn is not released: %w", err)
	}
	return nil
}

// WantHeld fails the test unless TryAcquire returns ErrHeld.
func WantHeld(t testing.TB, turns gcgate.Turns) {
	t.Helper()
	if err := wantHeld(context.Background(), turns); err != nil {
		t.Fatal(err)
	}
}

// wantHeld asks again if an answer was too slow.
func wantHeld(ctx context.Context, turns gcgate.Turns) error {
	for end := time.Now().Add(Patience); ; time.Sleep(lookTick) {
		l, err := ask(ctx, turns, Patience, false)
		if errors.Is(err, gcgate.ErrHeld) {
			return nil
		}
		if err == nil {
			_ = l.Release(ctx)
		}
		if err == nil || time.Now().After(end) {
			return fmt.Errorf("error %v of TryAcquire, want gcgate.ErrHeld", err)
		}
	}
}

// WantLost waits until the turn is lost.
func WantLost(t testing.TB, l gcgate.Lease) {
	t.Helper()
	select {
	case <-l.Lost():
	case <-time.After(Patience):
		t.Fatalf("not lost after %v", Patience)
	}
}

// WantNotLost fails the test if the turn is lost.
func WantNotLost(t testing.TB, l gcgate.Lease) {
	t.Helper()
	select {
	case <-l.Lost():
		t.Fatal("lost")
	default:
	}
}

// WantNoAnswer fails the test unless err says that the arbiter did not answer.
func WantNoAnswer(t testing.TB, err error) {
	t.Helper()
	if err == nil || errors.Is(err, gcgate.ErrHeld) || !strings.Contains(err.Error(), "no answer from") {
		t.Fatalf("error %v, want no answer", err)
	}
}

// Briefly gives do a short context and returns its error. On a busy machine do gets more time.
func Briefly(t testing.TB, do func(context.Context) error) error {
	t.Helper()
	for limit := 300 * time.Millisecond; ; limit *= 4 {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		err := do(ctx)
		cancel()
		if err == nil || !strings.Contains(err.Error(), "not asked") || limit > Patience {
			return err
		}
	}
}

func TryBriefly(t testing.TB, turns gcgate.Turns) error {
	t.Helper()
	return Briefly(t, func(ctx context.Context) error {
		_, err := turns.TryAcquire(ctx)
		return err
	})
}
