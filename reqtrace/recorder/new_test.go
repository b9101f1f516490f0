package recorder

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/internal/history"
	"evenkeel.dev/reqtrace"
)

// TestNewTold tests that no cause is logged as new in the first hour. Later a cause is logged once,
// in whatever class, and at most five causes in an hour.
func TestNewTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var function, class string
		var number uint64
		f.analysis = func(context.Context, history.Trace) (*history.Explained, time.Duration, error) {
			number++
			q := seen(number, reqtrace.CauseLock)
			q.Key.Function, q.Key.Class = function, class
			return &history.Explained{Slow: []history.Request{q}}, 0, nil
		}
		var log strings.Builder
		r := begin(t, f, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		told := 0
		r.Subscribe(func(e Explained) {
			if e.New {
				told++
			}
		})
		slow := func(of, in string, want int) {
			t.Helper()
			function, class = of, in
			slowRequest(r, in)
			time.Sleep(20 * time.Second)
			synctest.Wait()
			if told != want {
				t.Errorf("%s in %s: %d are told as new, want %d", of, in, told, want)
			}
		}
		slow("main.old", "GET /", 0)
		time.Sleep(30 * time.Minute)
		slow("main.early", "GET /", 0)
		time.Sleep(40 * time.Minute)
		slow("main.old", "GET /", 0)
		slow("main.late", "GET /", 1)
		slow("main.late", "GET /", 1)
		slow("main.late", "GET /other", 1)
		for i := range 20 {
			slow(fmt.Sprint("main.f", i), "GET /", min(2+i, newEach))
		}
		end(t, r)
		if n := strings.Count(log.String(), "new cause"); n != newEach {
			t.Errorf("%d lines of new causes:\n%s", n, log.String())
		}
	})
}
