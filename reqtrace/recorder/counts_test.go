package recorder

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/internal/history"
	"evenkeel.dev/reqtrace"
)

// TestSeenAfterAll: a slow request whose note had no room, or was given up, counts once, although a trace has it.
func TestSeenAfterAll(t *testing.T) {
	for name, wait := range map[string]time.Duration{"no room": 0, "given up": 40 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.hangs = make(chan bool)
				var r *Recorder
				f.analysis = func(context.Context, history.Trace) (*history.Explained, time.Duration, error) {
					time.Sleep(wait) // so that notes that came late are given up
					e := &history.Explained{}
					for number := range r.slow.Load() {
						e.Slow = append(e.Slow, seen(number+1, reqtrace.CauseLock))
					}
					return e, 0, nil
				}
				r = begin(t, f, Options{})
				slowRequest(r, "GET /")
				time.Sleep(2 * settle) // the snapshot is under way
				for range noteRoom + 100 {
					slowRequest(r, "GET /")
				}
				close(f.hangs)
				time.Sleep(2 * time.Minute)
				end(t, r)
				c := coverage(r)
				if sum := c.Seen + c.Cut + c.Limited + c.Off + c.Failed; c.Slow != r.slow.Load() || sum != c.Slow ||
					c.Seen == 0 || c.Failed < 100 {
					t.Errorf("%d slow requests: %+v", r.slow.Load(), c)
				}
			})
		})
	}
}

// router is one that sets no http.Request.Pattern, as most do but http.ServeMux.
type router map[string]http.HandlerFunc

func (r router) ServeHTTP(w http.ResponseWriter, q *http.Request) { r[q.URL.Path].ServeHTTP(w, q) }

func slowHandler(http.ResponseWriter, *http.Request) { time.Sleep(300 * time.Millisecond) }

// TestClassesOfAnotherRouter: a slow request is counted under the class that it is explained under.
func TestClassesOfAnotherRouter(t *testing.T) {
	r, err := Start(t.Context(), Options{
		Slow: 100 * time.Millisecond, Every: time.Second, CPU: 1, InProcess: true, Logger: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop(context.Background())
	explained := make(chan Explained, 1)
	r.Subscribe(func(e Explained) {
		select {
		case explained <- e:
		default:
		}
	})
	s := httptest.NewServer(r.Middleware(router{"/slow": slowHandler}))
	defer s.Close()
	// an analysis takes a small part of a processor, and the machine may be busy
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	asked := uint64(0)
	for again := true; again; {
		res, err := s.Client().Get(s.URL + "/slow")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		asked++
		select {
		case <-explained:
			again = false
		case <-time.After(time.Second):
		case <-ctx.Done():
			t.Fatalf("nothing is explained: %+v, %v", r.Stats(), coverage(r))
		}
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	var slow, seen uint64
	for class, c := range r.store.Snapshot().CoverageByClass(time.Time{}) {
		slow, seen = slow+c.Slow, seen+c.Seen
		if c.Seen > 0 && (c.Slow != c.Seen+c.Cut || !strings.Contains(class, "slowHandler")) {
			// those that no trace has are of no class
			t.Errorf("class %q: %+v", class, c)
		}
	}
	if slow != asked || seen == 0 {
		t.Errorf("%d slow requests, of which %d are seen, want %d", slow, seen, asked)
	}
}
