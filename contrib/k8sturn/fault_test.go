package k8sturn_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"evenkeel.dev/contrib/k8sturn"
	"evenkeel.dev/gcgate"
)

const lease0 = "gcgate-g-0"

// TestHolderDies kills a process that has the turn.
func TestHolderDies(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for duration := 5 * time.Second; !holderDies(t, s, duration); duration *= 2 {
		if t.Logf("the child lost a turn with a Duration of %v", duration); duration >= 40*time.Second {
			t.Fatal("no child kept its turn")
		}
	}
}

// holderDies reports whether a child had the turn until it was killed: one that stands still for two thirds of the Duration, or whose
// server does, loses it.
func holderDies(t *testing.T, s *server, duration time.Duration) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childURL+"="+s.url, childDuration+"="+duration.String())
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
	turns := newTurns(t, s, k8sturn.Options{})
	for renewed := s.spec(lease0)["renewTime"]; s.spec(lease0)["renewTime"] == renewed; time.Sleep(50 * time.Millisecond) { // it is kept
		l, err := tryAcquire(turns)
		if err != nil {
			continue
		}
		select {
		case <-lost:
		case <-time.After(eventTimeout):
			t.Fatal("two have the turn: the child did not say that it has lost it")
		}
		release(t, l)
		return false
	}
	cmd.Process.Kill()
	cmd.Wait()
	killed := time.Now()
	release(t, takeWithin(t, turns, duration+eventTimeout))
	t.Logf("free %v after the kill, Duration %v", time.Since(killed).Round(time.Millisecond), duration)
	return true
}

// TestClocks: a holder whose clock is hours off is believed for its duration, and no longer.
func TestClocks(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]time.Time{
		"behind": time.Now().Add(-24 * time.Hour), "ahead": time.Now().Add(24 * time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			turns := newTurns(t, s, k8sturn.Options{})
			release(t, take(t, turns))
			stamp := at.UTC().Format("2006-01-02T15:04:05.000000Z")
			begin := time.Now() // before the watch can tell
			s.change(t, lease0, map[string]any{"spec": map[string]any{
				"holderIdentity": "another", "leaseDurationSeconds": 2., "acquireTime": stamp, "renewTime": stamp,
			}})
			release(t, take(t, turns))
			if waited := time.Since(begin); waited < 2*time.Second {
				t.Errorf("taken after %v, the holder has two seconds", waited)
			}
		})
	}
}

// TestServerDies ends the server while a turn is held, and starts it again.
func TestServerDies(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	turns := newTurns(t, s, k8sturn.Options{Duration: time.Second})
	l := take(t, turns)
	s.down()
	wantLost(t, l)
	for range 2 {
		wantNoAnswer(t, tryBriefly(t, turns))
	}
	if err := l.Release(t.Context()); err != nil { // there is nothing to release
		t.Errorf("Release of a lost turn: %v", err)
	}
	s.up()
	take(t, turns) // and no release, which has no longer for it than the Duration
}

// TestServerRestarts starts the server again before the Duration is over: nothing is lost.
func TestServerRestarts(t *testing.T) {
	s := newServer(t)
	turns := newTurns(t, s, k8sturn.Options{Duration: time.Minute})
	l := take(t, turns)
	s.down()
	s.up()
	wantHeld(t, newTurns(t, s, k8sturn.Options{}))
	wantNotLost(t, l)
	release(t, l)
	release(t, take(t, turns))
}

// TestConnectionEndsAtRelease: a request on a connection that the server ends, kept open or new, is sent once more, carried out or not: the
// slot is free when Release returns.
func TestConnectionEndsAtRelease(t *testing.T) {
	for name, client := range map[string]*http.Client{
		"kept": nil, // or new, where the watch has taken that one
		"new":  {Transport: &http.Transport{DisableKeepAlives: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			turns := newTurns(t, s, k8sturn.Options{Client: client, Duration: time.Minute})
			l := take(t, turns)
			s.set(func() { s.drops = 1 })
			release(t, l)
			release(t, take(t, newTurns(t, s, k8sturn.Options{})))
		})
	}
}

// TestServerDiesForRelease releases while the server is away; the Lease outlives it there.
func TestServerDiesForRelease(t *testing.T) {
	s := newServer(t)
	turns := newTurns(t, s, k8sturn.Options{Duration: time.Minute})
	l := take(t, turns)
	s.down()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	wantNoAnswer(t, l.Release(ctx))
	release(t, l) // idempotent
	s.up()
	release(t, take(t, turns)) // its own stale slot does not stop it
	wantNotLost(t, l)
}

// TestOvertaken: a request that nobody waited for is carried out before the next one of the same process, which
// conflicts with it then. The turn that nobody has is freed, long before the Duration.
func TestOvertaken(t *testing.T) {
	s := newServer(t)
	turns := newTurns(t, s, k8sturn.Options{Duration: 5 * time.Minute})
	release(t, take(t, turns))
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
	release(t, take(t, newTurns(t, s, k8sturn.Options{})))
}

// keptDuration is the Duration of a turn that a test wants kept: a busy machine may stall for two thirds of it.
const keptDuration = 9 * time.Second

// TestRenewed holds a turn for longer than its Duration.
func TestRenewed(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	turns, near := newTurns(t, s, k8sturn.Options{Duration: keptDuration}), newTurns(t, s, k8sturn.Options{})
	l := take(t, turns)
	first := s.spec(lease0)["renewTime"]
	seen := map[any]bool{}
	for len(seen) < 4 { // each a third of the Duration after the other
		wantHeld(t, near)
		wantNotLost(t, l)
		if at := s.spec(lease0)["renewTime"]; at != first {
			seen[at] = true
		}
		time.Sleep(20 * time.Millisecond)
	}
	release(t, l)
}

// TestLeaseChanged does what an operator might do to the Lease.
func TestLeaseChanged(t *testing.T) {
	s := newServer(t)
	turns := newTurns(t, s, k8sturn.Options{Duration: keptDuration})
	t.Run("delete", func(t *testing.T) {
		l := take(t, turns)
		s.remove(lease0)
		wantLost(t, l)
		release(t, l)
		release(t, take(t, turns))
	})
	t.Run("another holder", func(t *testing.T) {
		l := take(t, turns)
		s.change(t, lease0, map[string]any{"spec": map[string]any{"holderIdentity": "operator", "leaseDurationSeconds": 300.}})
		wantLost(t, l)
		release(t, l) // takes nothing away from anyone
		wantHeld(t, turns)
		s.change(t, lease0, map[string]any{"spec": map[string]any{"holderIdentity": nil}})
		release(t, take(t, turns))
	})
	t.Run("a label", func(t *testing.T) {
		l := take(t, turns)
		s.change(t, lease0, map[string]any{"metadata": map[string]any{"labels": map[string]any{"team": "blue"}}})
		for begin := s.spec(lease0)["renewTime"]; s.spec(lease0)["renewTime"] == begin; time.Sleep(10 * time.Millisecond) {
			wantNotLost(t, l) // it is renewed all the same
		}
		release(t, l)
		s.mu.Lock()
		labels := s.objects[lease0]["metadata"].(map[string]any)["labels"].(map[string]any)
		s.mu.Unlock()
		if labels["team"] != "blue" || len(labels) != 2 {
			t.Errorf("labels %v", labels)
		}
	})
	t.Run("old versions are forgotten", func(t *testing.T) {
		release(t, take(t, turns))
		s.forget()
		release(t, take(t, turns))
	})
}

// TestUnheard cuts the way to the server in one direction while a turn is taken or released. The Duration is
// too long to be what frees the slot.
func TestUnheard(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name              string
		requests, answers bool
	}{
		{"request lost", true, false},
		{"answer lost", false, true},
	} {
		s := newServer(t)
		far, near := newTurns(t, s, k8sturn.Options{Duration: time.Minute}), newTurns(t, s, k8sturn.Options{})
		release(t, take(t, far))
		release(t, take(t, near))
		try := func(do func(context.Context) error) {
			t.Helper()
			s.hold(tt.requests, tt.answers)
			wantNoAnswer(t, briefly(t, do))
			s.hold(false, false)
		}
		t.Run(tt.name+"/Release", func(t *testing.T) {
			try(take(t, far).Release)
			release(t, take(t, near)) // freed in the background
			release(t, take(t, far))
		})
		t.Run(tt.name+"/Release and take again", func(t *testing.T) {
			try(take(t, far).Release)
			release(t, take(t, far))
		})
		t.Run(tt.name+"/TryAcquire", func(t *testing.T) {
			try(func(ctx context.Context) error {
				for {
					_, err := far.TryAcquire(ctx)
					if err == nil || ctx.Err() != nil {
						return err
					}
				}
			})
			release(t, take(t, near))
			release(t, take(t, far))
		})
	}
}

// TestLateRelease lets a Release through when the slot is somebody else's already.
func TestLateRelease(t *testing.T) {
	s := newServer(t)
	far, near := newTurns(t, s, k8sturn.Options{Duration: time.Minute}), newTurns(t, s, k8sturn.Options{})
	l := take(t, far)
	s.hold(true, false)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	wantNoAnswer(t, l.Release(ctx))
	// The server carries it out later. Until then somebody else has taken the slot.
	s.change(t, lease0, map[string]any{"spec": map[string]any{"holderIdentity": "another", "leaseDurationSeconds": 300.}})
	s.hold(false, false)
	wantHeld(t, near)
	if holder := s.spec(lease0)["holderIdentity"]; holder != "another" {
		t.Errorf("%v has the slot", holder)
	}
}

// TestLeaseWithoutLabel, as an operator or a restore leaves it: no list or watch shows it, and it is taken all the same.
func TestLeaseWithoutLabel(t *testing.T) {
	s := newServer(t)
	release(t, take(t, newTurns(t, s, k8sturn.Options{})))
	s.change(t, lease0, map[string]any{"metadata": map[string]any{"labels": map[string]any{"evenkeel.dev/gcgate-group": nil}}})
	turns := newTurns(t, s, k8sturn.Options{}) // another replica, or the same after a restart
	l := take(t, turns)
	if _, err := newTurns(t, s, k8sturn.Options{}).TryAcquire(t.Context()); !errors.Is(err, gcgate.ErrHeld) {
		t.Errorf("a second one: %v", err)
	}
	release(t, l)
}

// TestLeaseDeletedBeforeTheAnswer to its release: it is made again.
func TestLeaseDeletedBeforeTheAnswer(t *testing.T) {
	s := newServer(t)
	turns := newTurns(t, s, k8sturn.Options{})
	l := take(t, turns)
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
	release(t, take(t, turns))
}
