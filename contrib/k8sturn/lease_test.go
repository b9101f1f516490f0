package k8sturn_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/contrib/k8sturn"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/internal/turnsuite"
)

// transport leads to a server without a network. between may change the answers.
type transport struct {
	s       *server
	between func(r *http.Request, serve func() *http.Response) (*http.Response, error) // may be nil
}

func (tr *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	serve := func() *http.Response {
		answer := httptest.NewRecorder()
		tr.s.ServeHTTP(answer, r)
		return answer.Result()
	}
	if tr.between == nil {
		return serve(), nil
	}
	return tr.between(r, serve)
}

// TestReleaseGoesWrong has a Release fail while the next turn is taken, which is not released.
func TestReleaseGoesWrong(t *testing.T) {
	for name, carriedOut := range map[string]bool{"request lost": false, "answer lost": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serverWithoutNet()
				var cut atomic.Bool
				turns := newTurns(t, s, k8sturn.Options{Client: &http.Client{Transport: &transport{
					s,
					func(r *http.Request, serve func() *http.Response) (*http.Response, error) {
						if r.Method != http.MethodPatch || !cut.CompareAndSwap(true, false) {
							return serve(), nil
						}
						if carriedOut {
							serve()
						}
						<-r.Context().Done()
						return nil, r.Context().Err()
					},
				}}})
				near := newTurns(t, s, k8sturn.Options{Client: &http.Client{Transport: &transport{s: s}}})
				l := turnsuite.Take(t, turns)
				cut.Store(true)
				ctx, giveUp := context.WithCancel(t.Context())
				released := make(chan error)
				go func() { released <- l.Release(ctx) }()
				synctest.Wait()
				next, err := turnsuite.TryAcquire(turns)
				giveUp()
				if err := <-released; !errors.Is(err, context.Canceled) {
					t.Errorf("Release: %v, want Canceled", err)
				}
				if errors.Is(err, gcgate.ErrHeld) { // a Release was under way
					next = turnsuite.Take(t, turns)
				}
				time.Sleep(time.Minute) // for the background
				turnsuite.WantNotLost(t, next)
				turnsuite.WantHeld(t, near)
				turnsuite.Release(t, next)
				turnsuite.Release(t, turnsuite.Take(t, near))
			})
		})
	}
}

// TestRefusedRenewal has a renewal and the question after it refused. Both are tried again.
func TestRefusedRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 1000
		s := serverWithoutNet()
		var refuses atomic.Bool
		var refused atomic.Int64
		turns := newTurns(t, s, k8sturn.Options{Duration: keptDuration, Client: &http.Client{Transport: &transport{
			s,
			func(r *http.Request, serve func() *http.Response) (*http.Response, error) {
				if r.Method == http.MethodGet && refuses.Load() && refused.Add(1) < many {
					return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody}, nil
				}
				return serve(), nil
			},
		}}})
		l := turnsuite.Take(t, turns)
		refuses.Store(true)
		s.change(t, lease0, map[string]any{"metadata": map[string]any{"labels": map[string]any{"team": "blue"}}})
		time.Sleep(2 * keptDuration / 3)
		refuses.Store(false)
		if n := refused.Load(); n < 2 || n > 20 {
			t.Errorf("it asked %d times in %v, want every 250ms", n, keptDuration/3)
		}
		time.Sleep(2 * keptDuration)
		turnsuite.WantNotLost(t, l)
		turnsuite.Release(t, l)
	})
}

// TestRenewalThatHangs tests that a server that does not answer does not delay Lost.
func TestRenewalThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serverWithoutNet()
		var hangs atomic.Bool
		turns := newTurns(t, s, k8sturn.Options{Duration: keptDuration, Client: &http.Client{Transport: &transport{
			s,
			func(r *http.Request, serve func() *http.Response) (*http.Response, error) {
				if r.Method == http.MethodGet && hangs.Load() {
					<-r.Context().Done()
					return nil, r.Context().Err()
				}
				return serve(), nil
			},
		}}})
		l := turnsuite.Take(t, turns)
		hangs.Store(true)
		s.change(t, lease0, map[string]any{"metadata": map[string]any{"labels": map[string]any{"team": "blue"}}})
		begin := time.Now()
		<-l.Lost()
		if took := time.Since(begin); took > keptDuration {
			t.Errorf("lost after %v, its duration is %v", took, keptDuration)
		}
	})
}

// TestCloseDuringRelease has the Release arrive between the two requests of Close.
func TestCloseDuringRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serverWithoutNet()
		var patches atomic.Int64
		closes, freed := make(chan struct{}), make(chan struct{})
		turns := newTurns(t, s, k8sturn.Options{Client: &http.Client{Transport: &transport{
			s,
			func(r *http.Request, serve func() *http.Response) (*http.Response, error) {
				if r.Method == http.MethodPatch {
					switch patches.Add(1) {
					case 1:
						<-closes
						defer close(freed)
					case 2:
						close(closes)
						<-freed
					}
				}
				return serve(), nil
			},
		}}})
		l := turnsuite.Take(t, turns)
		released := make(chan error)
		go func() { released <- l.Release(t.Context()) }()
		synctest.Wait()
		if err := turns.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-released; err != nil {
			t.Errorf("Release: %v", err)
		}
		if n := patches.Load(); n != 2 {
			t.Errorf("%d patches, want one of each", n)
		}
		turnsuite.Release(t, turnsuite.Take(t,
			newTurns(t, s, k8sturn.Options{Client: &http.Client{Transport: &transport{s: s}}})))
	})
}
