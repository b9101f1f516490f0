package k8sturn_test

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/contrib/k8sturn"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/internal/turnsuite"
)

// sick is a way to a server that answers with other codes than it does; 0: with its own.
type sick struct {
	reads, writes atomic.Int64
	carriesOut    atomic.Bool  // a write is carried out, whatever its answer is
	slow          atomic.Int64 // the nanoseconds that the answer to a write takes
}

// client returns one that goes this way.
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

// wantRefused has a TryAcquire fail, and not because another one has the turn.
func wantRefused(t *testing.T, turns *k8sturn.Turns) {
	t.Helper()
	if _, err := turnsuite.TryAcquire(turns); err == nil || errors.Is(err, gcgate.ErrHeld) {
		t.Errorf("TryAcquire: %v, want a refusal", err)
	}
}

// releaseInDoubt has the server fail, and a Release with it.
func releaseInDoubt(t *testing.T, way *sick, l gcgate.Lease) {
	t.Helper()
	way.reads.Store(http.StatusInternalServerError)
	way.writes.Store(http.StatusInternalServerError)
	if err := l.Release(t.Context()); err == nil {
		t.Error("Release: no error")
	}
}

// TestWritesFail while reads work: however often a turn is wanted, one loop looks at the Lease, and
// ever more rarely.
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
				if n := s.count(http.MethodGet) - before; n < 4 || n > 12 {
					t.Errorf("it looked %d times in %v, want every 250ms at first and every 2s then", n, tries*each)
				}
			})
		})
	}
}

// TestRefusedWhileInDoubt has a Release fail, and a TryAcquire refused that would have made use of
// what it left: it is freed all the same, long before the Duration.
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

// TestTakenWhileInDoubt has a Release fail, and the next TryAcquire wait for its answer: what it
// has taken is not released.
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
		time.Sleep(2 * time.Minute) // renewed
		turnsuite.WantNotLost(t, next)
		turnsuite.Release(t, next)
	})
}

// TestInDoubtAgain has two TryAcquire in doubt, the second just before what the first one left is
// given up.
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
		way.reads.Store(http.StatusInternalServerError)
		way.carriesOut.Store(true)
		wantRefused(t, far)
		time.Sleep(time.Second)
		turnsuite.WantHeld(t, near)
		way.reads.Store(0)
		way.writes.Store(0)
		turnsuite.Release(t, turnsuite.TakeWithin(t, near, 5*time.Second))
	})
}

// TestArrivesLate has a request that was given up long ago arrive just before the next one, which
// it refuses then. The turn that nobody has is freed, long before the Duration.
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

// TestInDoubtDuringRelease has a TryAcquire in doubt while what the Release before it left is being
// freed: so is what it leaves itself.
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
					case 2: // in the background
						answer := serve()
						<-freed
						return answer, nil
					case 3: // of TryAcquire
						serve()
						fallthrough
					case 1: // of Release
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
