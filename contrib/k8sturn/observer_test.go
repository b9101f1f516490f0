package k8sturn_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
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

// TestWatchEndsAtOnce tests a service account that may list and not watch. The Leases are listed
// ever more rarely, and the log says so once.
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
					Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
						if r.URL.Query().Get("watch") != "" && !watches.Load() {
							return &http.Response{StatusCode: code, Body: http.NoBody}, nil
						}
						return serve.RoundTrip(r)
					})},
				})
				turns.LogTo(slog.New(slog.NewTextHandler(&text, nil)))
				turnsuite.Release(t, turnsuite.Take(t, turns))
				time.Sleep(during)
				synctest.Wait()
				if n := s.count(http.MethodGet); n < 12 || n > 40 {
					t.Errorf("listed %d times in %v, want every 100ms at first and every 5s then", n, during)
				}
				if n := strings.Count(text.String(), "level=WARN"); n != 1 {
					t.Errorf("%d warnings, want one", n)
				}
				turnsuite.Release(t, turnsuite.Take(t, turns)) // works without a watch
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

// TestWatchComesAndGoes tests that the log has at most one line a minute about the watch.
func TestWatchComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serverWithoutNet()
		var refuses atomic.Bool
		serve := &transport{s: s}
		var text bytes.Buffer
		turns := newTurns(t, s, k8sturn.Options{
			Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				if r.URL.Query().Get("watch") != "" && refuses.Load() {
					return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody}, nil
				}
				return serve.RoundTrip(r)
			})},
		})
		turns.LogTo(slog.New(slog.NewTextHandler(&text, nil)))
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

// TestVersionsGoBack, as after a restore of etcd.
func TestVersionsGoBack(t *testing.T) {
	const back = 50
	t.Run("listed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := serverWithoutNet()
			turns := newTurns(t, s, k8sturn.Options{Client: &http.Client{Transport: &transport{s: s}}})
			turnsuite.Release(t, turnsuite.Take(t, turns))
			s.restore(back)
			s.endWatches()
			time.Sleep(time.Second)
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
			turnsuite.WantHeld(t, turns)
			l, err := turnsuite.TryAcquire(turns)
			if err != nil {
				t.Fatal(err)
			}
			turnsuite.Release(t, l)
		})
	})
}

// TestListOvertaken has a turn taken during a list that does not have it. The turn is not lost.
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
				time.Sleep(time.Second)
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

// transport leads to a server without a network. between may change the answers to requests other
// than watches.
type transport struct {
	s       *server
	between func(r *http.Request, serve func() *http.Response) (*http.Response, error) // may be nil
}

func (tr *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	if r.URL.Query().Get("watch") != "" {
		return tr.watch(r), nil
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

func (tr *transport) watch(r *http.Request) *http.Response {
	body, events := io.Pipe()
	context.AfterFunc(r.Context(), func() { events.CloseWithError(r.Context().Err()) })
	go func() {
		tr.s.serveWatch(stream{events}, r)
		events.Close()
	}()
	return &http.Response{StatusCode: http.StatusOK, Body: body}
}

type stream struct{ io.Writer }

func (stream) Header() http.Header { return http.Header{} }
func (stream) WriteHeader(int)     {}
func (stream) Flush()              {}

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
