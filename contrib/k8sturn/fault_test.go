package k8sturn_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/contrib/k8sturn"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/internal/turnsuite"
)

const lease0 = "gcgate-g-0"

// TestClocks tests that a holder whose clock is hours off keeps its turn for its duration, and no
// longer.
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
			begin := time.Now()
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

// TestConnectionEndsAtRelease tests that a request is sent again if the server ends its connection.
// The slot is free when Release returns.
func TestConnectionEndsAtRelease(t *testing.T) {
	for name, client := range map[string]*http.Client{
		"kept": nil,
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

// TestRefusedDial tests that a request is not sent again if there was no connection.
func TestRefusedDial(t *testing.T) {
	dials := 0
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			dials++
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		},
	}}
	turns := newTurns(t, newServer(t), k8sturn.Options{Client: client})
	if err := turns.Check(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) || dials != 1 {
		t.Errorf("%d dials, want 1: %v", dials, err)
	}
}

// keptDuration is for a turn that must not be lost in a stall of two thirds of it.
const keptDuration = 9 * time.Second

// TestRenewed holds a turn for longer than its Duration.
func TestRenewed(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	turns, near := newTurns(t, s, k8sturn.Options{Duration: keptDuration}), newTurns(t, s, k8sturn.Options{})
	l := turnsuite.Take(t, turns)
	first := s.spec(lease0)["renewTime"]
	seen := map[any]bool{}
	for len(seen) < 4 {
		turnsuite.WantHeld(t, near)
		turnsuite.WantNotLost(t, l)
		if at := s.spec(lease0)["renewTime"]; at != first {
			seen[at] = true
		}
		time.Sleep(20 * time.Millisecond)
	}
	turnsuite.Release(t, l)
}

// TestLeaseChanged does what an operator might do.
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
		turnsuite.Release(t, l)
		turnsuite.WantHeld(t, turns)
		s.change(t, lease0, map[string]any{"spec": map[string]any{"holderIdentity": nil}})
		turnsuite.Release(t, turnsuite.Take(t, turns))
	})
	t.Run("a label", func(t *testing.T) {
		l := turnsuite.Take(t, turns)
		s.change(t, lease0, map[string]any{"metadata": map[string]any{"labels": map[string]any{"team": "blue"}}})
		renewed := arbiter{s}.Renewed(t)
		for ; !renewed(); time.Sleep(10 * time.Millisecond) {
			turnsuite.WantNotLost(t, l)
		}
		turnsuite.Release(t, l)
		s.mu.Lock()
		labels := s.objects[lease0]["metadata"].(map[string]any)["labels"].(map[string]any)
		s.mu.Unlock()
		if labels["team"] != "blue" || len(labels) != 2 {
			t.Errorf("labels %v", labels)
		}
	})
}

// TestLateRelease has a Release arrive when another replica has the slot.
func TestLateRelease(t *testing.T) {
	s := newServer(t)
	far, near := newTurns(t, s, k8sturn.Options{Duration: time.Minute}), newTurns(t, s, k8sturn.Options{})
	l := turnsuite.Take(t, far)
	s.hold(true, false)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	turnsuite.WantNoAnswer(t, l.Release(ctx))
	// Another replica has taken the slot.
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

// TestLeaseDeletedBeforeTheAnswer tests that a Lease which was deleted during its release is made
// again.
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
	s.hold(false, false)
	if err := <-released; err != nil {
		t.Error(err)
	}
	turnsuite.Release(t, turnsuite.Take(t, turns))
}

type sick struct {
	reads, writes atomic.Int64
	carriesOut    atomic.Bool  // a write, whatever its answer is
	slow          atomic.Int64 // nanoseconds until the answer to a write
}

func (f *sick) client(s *server) *http.Client {
	return &http.Client{Transport: &transport{
		s,
		func(r *http.Request, serve func() *http.Response) (*http.Response, error) {
			code := f.reads.Load()
			if r.Method != http.MethodGet {
				code = f.writes.Load()
			}
			if code == 0 {
				answer := serve()
				if r.Method != http.MethodGet {
					time.Sleep(time.Duration(f.slow.Load()))
				}
				return answer, nil
			}
			if r.Method != http.MethodGet && f.carriesOut.Load() {
				serve()
			}
			return &http.Response{StatusCode: int(code), Body: http.NoBody}, nil
		},
	}}
}

// wantRefused wants a TryAcquire to fail with another error than ErrHeld.
func wantRefused(t *testing.T, turns *k8sturn.Turns) {
	t.Helper()
	if _, err := turnsuite.TryAcquire(turns); err == nil || errors.Is(err, gcgate.ErrHeld) {
		t.Errorf("TryAcquire: %v, want a refusal", err)
	}
}

func releaseInDoubt(t *testing.T, way *sick, l gcgate.Lease) {
	t.Helper()
	way.reads.Store(http.StatusInternalServerError)
	way.writes.Store(http.StatusInternalServerError)
	if err := l.Release(t.Context()); err == nil {
		t.Error("Release: no error")
	}
}

// TestWritesFail tests that one loop looks at a Lease in doubt, ever more rarely.
func TestWritesFail(t *testing.T) {
	for name, exists := range map[string]bool{"POST": false, "PATCH": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const tries, each = 18, 500 * time.Millisecond
				s := serverWithoutNet()
				var way sick
				turns := newTurns(t, s, k8sturn.Options{Client: way.client(s)})
				if exists {
					turnsuite.Release(t, turnsuite.Take(t, turns))
				}
				way.writes.Store(http.StatusInternalServerError)
				before := s.count(http.MethodGet)
				for range tries {
					wantRefused(t, turns)
					time.Sleep(each)
				}
				if n := s.count(http.MethodGet) - before - tries; n < 4 || n > 12 {
					t.Errorf("it looked %d times in %v, want every 250ms at first and every 2s then", n, tries*each)
				}
			})
		})
	}
}

// TestRefusedWhileInDoubt has a Release fail, and the next TryAcquire refused. The Lease is freed
// long before the Duration.
func TestRefusedWhileInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serverWithoutNet()
		var way sick
		far := newTurns(t, s, k8sturn.Options{Duration: time.Minute, Client: way.client(s)})
		near := newTurns(t, s, k8sturn.Options{Client: (&sick{}).client(s)})
		l := turnsuite.Take(t, far)
		releaseInDoubt(t, &way, l)
		way.writes.Store(http.StatusTooManyRequests)
		wantRefused(t, far)
		time.Sleep(time.Second)
		turnsuite.WantHeld(t, near)
		way.reads.Store(0)
		way.writes.Store(0)
		turnsuite.Release(t, turnsuite.TakeWithin(t, near, 5*time.Second))
	})
}

// TestTakenWhileInDoubt has a Release fail, and the next TryAcquire succeed slowly. Its turn is not
// released.
func TestTakenWhileInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serverWithoutNet()
		var way sick
		turns := newTurns(t, s, k8sturn.Options{Duration: time.Minute, Client: way.client(s)})
		l := turnsuite.Take(t, turns)
		releaseInDoubt(t, &way, l)
		way.reads.Store(0)
		way.writes.Store(0)
		way.slow.Store(int64(5 * time.Second))
		next := turnsuite.Take(t, turns)
		way.slow.Store(0)
		turnsuite.WantNotLost(t, next)
		turnsuite.WantHeld(t, newTurns(t, s, k8sturn.Options{Client: (&sick{}).client(s)}))
		time.Sleep(2 * time.Minute)
		turnsuite.WantNotLost(t, next)
		turnsuite.Release(t, next)
	})
}

// TestInDoubtAgain has a second TryAcquire in doubt just before the first one is given up.
func TestInDoubtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const duration = time.Minute
		s := serverWithoutNet()
		var way sick
		far := newTurns(t, s, k8sturn.Options{Duration: duration, Client: way.client(s)})
		near := newTurns(t, s, k8sturn.Options{Client: (&sick{}).client(s)})
		turnsuite.Release(t, turnsuite.Take(t, far))
		synctest.Wait()
		way.writes.Store(http.StatusInternalServerError)
		wantRefused(t, far)
		time.Sleep(duration - 200*time.Millisecond)
		way.carriesOut.Store(true)
		wantRefused(t, far)
		way.reads.Store(http.StatusInternalServerError)
		time.Sleep(time.Second)
		turnsuite.WantHeld(t, near)
		way.reads.Store(0)
		way.writes.Store(0)
		turnsuite.Release(t, turnsuite.TakeWithin(t, near, 5*time.Second))
	})
}

// TestArrivesLate has a request that was given up arrive just before the next one. The turn is
// freed long before the Duration.
func TestArrivesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serverWithoutNet()
		var holder any
		var late atomic.Bool
		far := newTurns(t, s, k8sturn.Options{Duration: time.Minute, Client: &http.Client{Transport: &transport{
			s,
			func(r *http.Request, serve func() *http.Response) (*http.Response, error) {
				if r.Method == http.MethodPatch && late.CompareAndSwap(true, false) {
					s.change(t, lease0, map[string]any{"spec": map[string]any{"holderIdentity": holder}})
				}
				return serve(), nil
			},
		}}})
		near := newTurns(t, s, k8sturn.Options{Client: (&sick{}).client(s)})
		l := turnsuite.Take(t, far)
		holder = s.spec(lease0)["holderIdentity"]
		turnsuite.Release(t, l)
		synctest.Wait()
		late.Store(true)
		turnsuite.WantHeld(t, far)
		turnsuite.Release(t, turnsuite.TakeWithin(t, near, 5*time.Second))
	})
}

// TestInDoubtDuringRelease has a TryAcquire in doubt while the Release before it is settled. Both
// are settled.
func TestInDoubtDuringRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serverWithoutNet()
		var patches atomic.Int64
		freed := make(chan struct{})
		far := newTurns(t, s, k8sturn.Options{Duration: time.Minute, Client: &http.Client{Transport: &transport{
			s,
			func(r *http.Request, serve func() *http.Response) (*http.Response, error) {
				if r.Method == http.MethodPatch {
					switch patches.Add(1) {
					case 2:
						answer := serve()
						<-freed
						return answer, nil
					case 3:
						serve()
						fallthrough
					case 1:
						return &http.Response{StatusCode: http.StatusInternalServerError, Body: http.NoBody}, nil
					}
				}
				return serve(), nil
			},
		}}})
		near := newTurns(t, s, k8sturn.Options{Client: (&sick{}).client(s)})
		if err := turnsuite.Take(t, far).Release(t.Context()); err == nil {
			t.Error("Release: no error")
		}
		time.Sleep(time.Second)
		wantRefused(t, far)
		close(freed)
		turnsuite.WantHeld(t, near)
		turnsuite.Release(t, turnsuite.TakeWithin(t, near, 5*time.Second))
		if n := patches.Load(); n != 4 {
			t.Errorf("%d patches, want 4", n)
		}
	})
}

// TestUnreadAfterAConflict loses the answer to a patch that was carried out. The second one
// conflicts, and the Lease cannot be read. It is freed long before the Duration.
func TestUnreadAfterAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serverWithoutNet()
		var loses, refuses atomic.Bool
		far := newTurns(t, s, k8sturn.Options{Duration: 5 * time.Minute, Client: &http.Client{Transport: &transport{
			s,
			func(r *http.Request, serve func() *http.Response) (*http.Response, error) {
				switch {
				case r.Method == http.MethodPatch && loses.CompareAndSwap(true, false):
					serve()
					refuses.Store(true)
					return nil, io.ErrUnexpectedEOF
				case r.Method == http.MethodGet && refuses.CompareAndSwap(true, false):
					return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody}, nil
				}
				return serve(), nil
			},
		}}})
		near := newTurns(t, s, k8sturn.Options{Client: (&sick{}).client(s)})
		turnsuite.Release(t, turnsuite.Take(t, far))
		synctest.Wait()
		loses.Store(true)
		turnsuite.WantHeld(t, far)
		if loses.Load() || refuses.Load() {
			t.Error("no answer was lost, or no GET refused")
		}
		turnsuite.Release(t, turnsuite.TakeWithin(t, near, 5*time.Second))
	})
}
