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
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestWatchEndsAtOnce while lists work, as for a service account that may not watch: the Leases are listed ever more rarely, and
// the log has it once.
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
				release(t, take(t, turns))
				time.Sleep(during)
				synctest.Wait()
				if n := s.count(http.MethodGet); n < 12 || n > 40 {
					t.Errorf("listed %d times in %v, want every 100ms at first and every 5s then", n, during)
				}
				if n := strings.Count(text.String(), "level=WARN"); n != 1 {
					t.Errorf("%d warnings, want one", n)
				}
				release(t, take(t, turns)) // it goes without a watch, if need be
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
