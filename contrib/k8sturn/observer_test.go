package k8sturn_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/contrib/k8sturn"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/internal/turnsuite"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestWatchEndsAtOnce while lists work, as for a service account that may not watch: the Leases are
// listed ever more rarely, and the log has it once.
func TestWatchEndsAtOnce(t *testing.T) {
	for name, code := range map[string]int{
		"refused":   http.StatusForbidden,
		"too many":  http.StatusTooManyRequests,
		"cut short": http.StatusOK,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const during = time.Minute
				s := serverWithoutNet()
				var watches atomic.Bool
				serve := &transport{s: s}
				var text bytes.Buffer
				turns := newTurns(t, s, k8sturn.Options{
					Logger: slog.New(slog.NewTextHandler(&text, nil)),
					Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
						if r.URL.Query().Get("watch") != "" && !watches.Load() {
							return &http.Response{StatusCode: code, Body: http.NoBody}, nil
						}
						return serve.RoundTrip(r)
					})},
				})
				turnsuite.Release(t, turnsuite.Take(t, turns))
				time.Sleep(during)
				synctest.Wait()
				if n := s.count(http.MethodGet); n < 12 || n > 40 {
					t.Errorf("listed %d times in %v, want every 100ms at first and every 5s then", n, during)
				}
				if n := strings.Count(text.String(), "level=WARN"); n != 1 {
					t.Errorf("%d warnings, want one", n)
				}
				turnsuite.Release(t, turnsuite.Take(t, turns)) // it goes without a watch, if need be
				watches.Store(true)
				time.Sleep(during)
				before := s.count(http.MethodGet)
				time.Sleep(during)
				if n := s.count(http.MethodGet) - before; n != 0 {
					t.Errorf("listed %d times during a watch", n)
				}
			})
		})
	}
}

// TestWatchComesAndGoes tests that the log has at most one line a minute, however often a watch
// ends, and one when the watch works again.
func TestWatchComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serverWithoutNet()
		var refuses atomic.Bool
		serve := &transport{s: s}
		var text bytes.Buffer
		turns := newTurns(t, s, k8sturn.Options{
			Logger: slog.New(slog.NewTextHandler(&text, nil)),
			Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				if r.URL.Query().Get("watch") != "" && refuses.Load() {
					return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody}, nil
				}
				return serve.RoundTrip(r)
			})},
		})
		turnsuite.Release(t, turnsuite.Take(t, turns))
		for range 5 { // two minutes
			refuses.Store(true)
			s.endWatches()
			time.Sleep(12 * time.Second)
			refuses.Store(false)
			time.Sleep(12 * time.Second)
		}
		synctest.Wait()
		ended, again := strings.Count(text.String(), "cannot watch"), strings.Count(text.String(), "watched again")
		if ended != 2 || again != 2 || !strings.Contains(text.String(), "times=3") {
			t.Errorf("%d and %d warnings, want two of each, the second of three times:\n%s", ended, again,
				text.String())
		}
	})
}

// TestVersionsGoBack, as a restore of etcd has them.
func TestVersionsGoBack(t *testing.T) {
	const back = 50
	t.Run("listed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := serverWithoutNet()
			turns := newTurns(t, s, k8sturn.Options{Client: &http.Client{Transport: &transport{s: s}}})
			turnsuite.Release(t, turnsuite.Take(t, turns))
			s.restore(back)
			s.endWatches()
			time.Sleep(time.Second) // for the next list
			l, err := turnsuite.TryAcquire(turns)
			if err != nil {
				t.Fatal(err)
			}
			turnsuite.Release(t, l)
		})
	})
	t.Run("not heard of", func(t *testing.T) { // the watch goes on
		synctest.Test(t, func(t *testing.T) {
			s := serverWithoutNet()
			turns := newTurns(t, s, k8sturn.Options{Client: &http.Client{Transport: &transport{s: s}}})
			turnsuite.Release(t, turnsuite.Take(t, turns))
			synctest.Wait()
			s.restore(back)
			turnsuite.WantHeld(t, turns) // refused, and looked at
			l, err := turnsuite.TryAcquire(turns)
			if err != nil {
				t.Fatal(err)
			}
			turnsuite.Release(t, l)
		})
	})
}

// TestListOvertaken has a turn taken while a list is on its way that does not have it yet: it is
// not lost by that.
func TestListOvertaken(t *testing.T) {
	for name, exists := range map[string]bool{"POST": false, "PATCH": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serverWithoutNet()
				var slowWrites, slowLists atomic.Bool
				writes, lists := make(chan struct{}), make(chan struct{})
				turns := newTurns(t, s,
					k8sturn.Options{Duration: time.Minute, Client: &http.Client{Transport: &transport{
						s,
						func(r *http.Request, serve func() *http.Response) (*http.Response, error) {
							if r.Method != http.MethodGet && slowWrites.Load() {
								<-writes
							}
							answer := serve()
							if r.Method == http.MethodGet && slowLists.Load() {
								<-lists
							}
							return answer, nil
						},
					}}})
				if exists {
					turnsuite.Release(t, turnsuite.Take(t, turns))
				}
				slowWrites.Store(true)
				took := make(chan gcgate.Lease)
				go func() {
					l, err := turnsuite.TryAcquire(turns)
					if err != nil {
						t.Error(err)
					}
					took <- l
				}()
				synctest.Wait()
				slowLists.Store(true)
				s.endWatches()
				time.Sleep(time.Second) // the list has begun
				close(writes)
				l := <-took
				close(lists)
				synctest.Wait()
				if l == nil {
					t.FailNow()
				}
				turnsuite.WantNotLost(t, l)
				turnsuite.Release(t, l)
			})
		})
	}
}
