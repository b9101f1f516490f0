package k8sturn_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"evenkeel.dev/contrib/k8sturn"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/internal/turnsuite"
)

const lease0 = "gcgate-g-0"

// TestClocks: a holder whose clock is hours off is believed for its duration, and no longer.
func TestClocks(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]time.Time{
		"behind": time.Now().Add(-24 * time.Hour), "ahead": time.Now().Add(24 * time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			turns := newTurns(t, s, k8sturn.Options{})
			turnsuite.Release(t, turnsuite.Take(t, turns))
			stamp := at.UTC().Format("2006-01-02T15:04:05.000000Z")
			begin := time.Now() // before the watch can tell
			s.change(t, lease0, map[string]any{"spec": map[string]any{
				"holderIdentity": "another", "leaseDurationSeconds": 2., "acquireTime": stamp, "renewTime": stamp,
			}})
			turnsuite.Release(t, turnsuite.Take(t, turns))
			if waited := time.Since(begin); waited < 2*time.Second {
				t.Errorf("taken after %v, the holder has two seconds", waited)
			}
		})
	}
}

// TestConnectionEndsAtRelease: a request on a connection that the server ends, kept open or new, is
// sent once more, carried out or not: the slot is free when Release returns.
func TestConnectionEndsAtRelease(t *testing.T) {
	for name, client := range map[string]*http.Client{
		"kept": nil, // or new, where the watch has taken that one
		"new":  {Transport: &http.Transport{DisableKeepAlives: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			turns := newTurns(t, s, k8sturn.Options{Client: client, Duration: time.Minute})
			l := turnsuite.Take(t, turns)
			s.set(func() { s.drops = 1 })
			turnsuite.Release(t, l)
			turnsuite.Release(t, turnsuite.Take(t, newTurns(t, s, k8sturn.Options{})))
		})
	}
}

// TestOvertaken: a request that nobody waited for is carried out before the next one of the same
// process, which conflicts with it then. The turn that nobody has is freed, long before the
// Duration.
func TestOvertaken(t *testing.T) {
	s := newServer(t)
	turns := newTurns(t, s, k8sturn.Options{Duration: 5 * time.Minute})
	turnsuite.Release(t, turnsuite.Take(t, turns))
	before := s.count(http.MethodPatch)
	sent := func(n int) {
		for s.count(http.MethodPatch) < before+n {
			time.Sleep(time.Millisecond)
		}
	}
	s.hold(true, false)
	ctx, giveUp := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := turns.TryAcquire(ctx)
		first <- err
	}()
	sent(1)
	giveUp()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Fatalf("TryAcquire: %v, want Canceled", err)
	}
	go func() {
		_, err := turns.TryAcquire(context.Background())
		second <- err
	}()
	sent(2)
	s.hold(false, false)
	if err := <-second; !errors.Is(err, gcgate.ErrHeld) {
		t.Fatalf("the second TryAcquire: %v, want ErrHeld", err)
	}
	turnsuite.Release(t, turnsuite.Take(t, newTurns(t, s, k8sturn.Options{})))
}

// keptDuration is the Duration of a turn that a test wants kept: a busy machine may stall for two
// thirds of it.
const keptDuration = 9 * time.Second

// TestRenewed holds a turn for longer than its Duration.
func TestRenewed(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	turns, near := newTurns(t, s, k8sturn.Options{Duration: keptDuration}), newTurns(t, s, k8sturn.Options{})
	l := turnsuite.Take(t, turns)
	first := s.spec(lease0)["renewTime"]
	seen := map[any]bool{}
	for len(seen) < 4 { // each a third of the Duration after the other
		turnsuite.WantHeld(t, near)
		turnsuite.WantNotLost(t, l)
		if at := s.spec(lease0)["renewTime"]; at != first {
			seen[at] = true
		}
		time.Sleep(20 * time.Millisecond)
	}
	turnsuite.Release(t, l)
}

// TestLeaseChanged does what an operator might do to the Lease.
func TestLeaseChanged(t *testing.T) {
	s := newServer(t)
	turns := newTurns(t, s, k8sturn.Options{Duration: keptDuration})
	t.Run("delete", func(t *testing.T) {
		l := turnsuite.Take(t, turns)
		s.remove(lease0)
		turnsuite.WantLost(t, l)
		turnsuite.Release(t, l)
		turnsuite.Release(t, turnsuite.Take(t, turns))
	})
	t.Run("another holder", func(t *testing.T) {
		l := turnsuite.Take(t, turns)
		s.change(t, lease0, map[string]any{"spec": map[string]any{
			"holderIdentity":       "operator",
			"leaseDurationSeconds": 300.,
		}})
		turnsuite.WantLost(t, l)
		turnsuite.Release(t, l) // takes nothing away from anyone
		turnsuite.WantHeld(t, turns)
		s.change(t, lease0, map[string]any{"spec": map[string]any{"holderIdentity": nil}})
		turnsuite.Release(t, turnsuite.Take(t, turns))
	})
	t.Run("a label", func(t *testing.T) {
		l := turnsuite.Take(t, turns)
		s.change(t, lease0, map[string]any{"metadata": map[string]any{"labels": map[string]any{"team": "blue"}}})
		renewed := arbiter{s}.Renewed(t)
		for ; !renewed(); time.Sleep(10 * time.Millisecond) {
			turnsuite.WantNotLost(t, l) // it is renewed all the same
		}
		turnsuite.Release(t, l)
		s.mu.Lock()
		labels := s.objects[lease0]["metadata"].(map[string]any)["labels"].(map[string]any)
		s.mu.Unlock()
		if labels["team"] != "blue" || len(labels) != 2 {
			t.Errorf("labels %v", labels)
		}
	})
	t.Run("old versions are forgotten", func(t *testing.T) {
		turnsuite.Release(t, turnsuite.Take(t, turns))
		s.forget()
		turnsuite.Release(t, turnsuite.Take(t, turns))
	})
}

// TestLateRelease lets a Release through when the slot is somebody else's already.
func TestLateRelease(t *testing.T) {
	s := newServer(t)
	far, near := newTurns(t, s, k8sturn.Options{Duration: time.Minute}), newTurns(t, s, k8sturn.Options{})
	l := turnsuite.Take(t, far)
	s.hold(true, false)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	turnsuite.WantNoAnswer(t, l.Release(ctx))
	// The server carries it out later. Until then somebody else has taken the slot.
	s.change(t, lease0, map[string]any{"spec": map[string]any{
		"holderIdentity":       "another",
		"leaseDurationSeconds": 300.,
	}})
	s.hold(false, false)
	turnsuite.WantHeld(t, near)
	if holder := s.spec(lease0)["holderIdentity"]; holder != "another" {
		t.Errorf("%v has the slot", holder)
	}
}

// TestLeaseWithoutLabel, as an operator or a restore leaves it: no list or watch shows it, and it
// is taken all the same.
func TestLeaseWithoutLabel(t *testing.T) {
	s := newServer(t)
	turnsuite.Release(t, turnsuite.Take(t, newTurns(t, s, k8sturn.Options{})))
	noLabel := map[string]any{"evenkeel.dev/gcgate-group": nil}
	s.change(t, lease0, map[string]any{"metadata": map[string]any{"labels": noLabel}})
	turns := newTurns(t, s, k8sturn.Options{}) // another replica, or the same after a restart
	l := turnsuite.Take(t, turns)
	if _, err := newTurns(t, s, k8sturn.Options{}).TryAcquire(t.Context()); !errors.Is(err, gcgate.ErrHeld) {
		t.Errorf("a second one: %v", err)
	}
	turnsuite.Release(t, l)
}

// TestLeaseDeletedBeforeTheAnswer to its release: it is made again.
func TestLeaseDeletedBeforeTheAnswer(t *testing.T) {
	s := newServer(t)
	turns := newTurns(t, s, k8sturn.Options{})
	l := turnsuite.Take(t, turns)
	s.hold(false, true)
	released := make(chan error, 1)
	go func() { released <- l.Release(context.Background()) }()
	for s.spec(lease0)["holderIdentity"] != nil {
		time.Sleep(time.Millisecond)
	}
	s.remove(lease0)
	time.Sleep(50 * time.Millisecond) // for the watch: where it is late this test shows nothing
	s.hold(false, false)
	if err := <-released; err != nil {
		t.Error(err)
	}
	turnsuite.Release(t, turnsuite.Take(t, turns))
}
