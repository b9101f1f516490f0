package turnsuite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/gcgate"
)

// Patience is longer than any wait that does not hang.
const Patience = 30 * time.Second

const lookTick = 10 * time.Millisecond

func TryAcquire(turns gcgate.Turns) (gcgate.Lease, error) {
	return ask(turns, Patience, false)
}

// ask tries for a turn, or waits for it in the queue.
func ask(turns gcgate.Turns, wait time.Duration, queue bool) (gcgate.Lease, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	if q, ok := turns.(gcgate.Queue); ok && queue {
		l, err := q.Acquire(ctx)
		if errors.Is(err, gcgate.ErrHeld) {
			err = fmt.Errorf("error %v of Acquire, which only TryAcquire may return", err)
		}
		return l, err
	}
	return turns.TryAcquire(ctx)
}

// Take takes the turn, and fails the test if that takes too long.
func Take(t testing.TB, turns gcgate.Turns) gcgate.Lease {
	t.Helper()
	return TakeWithin(t, turns, Patience)
}

// TakeWithin takes a turn that is free, or will be when others have heard of it.
func TakeWithin(t testing.TB, turns gcgate.Turns, bound time.Duration) gcgate.Lease {
	t.Helper()
	for end := time.Now().Add(bound); ; time.Sleep(lookTick) {
		l, err := TryAcquire(turns)
		if err == nil {
			return l
		}
		if time.Now().After(end) {
			t.Fatalf("no turn after %v: %v", bound, err)
		}
	}
}

// Release releases the turn, or fails the test.
func Release(t testing.TB, l gcgate.Lease) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := l.Release(ctx); err != nil {
		t.Fatalf("a turn is not released: %v", err)
	}
}

// WantHeld fails the test unless TryAcquire returns ErrHeld. It asks again if an answer was too
// slow.
func WantHeld(t testing.TB, turns gcgate.Turns) {
	t.Helper()
	for end := time.Now().Add(Patience); ; time.Sleep(lookTick) {
		l, err := TryAcquire(turns)
		if errors.Is(err, gcgate.ErrHeld) {
			return
		}
		if err == nil {
			_ = l.Release(t.Context())
		}
		if err == nil || time.Now().After(end) {
			t.Fatalf("error %v of TryAcquire, want gcgate.ErrHeld", err)
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

// WantNotLost fails the test if one of the turns is lost.
func WantNotLost(t testing.TB, turns ...gcgate.Lease) {
	t.Helper()
	if slices.ContainsFunc(turns, isLost) {
		t.Fatal("a turn was lost although nothing took it")
	}
}

func isLost(l gcgate.Lease) bool {
	select {
	case <-l.Lost(): // never, where it is nil
		return true
	default:
		return false
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
