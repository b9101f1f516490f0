package recorder

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/history"
	"evenkeel.dev/reqtrace/recorder/internal/child"
)

// TestSeenAfterAll: a slow request whose note had no room, or was given up, counts once, although a trace has it.
func TestSeenAfterAll(t *testing.T) {
	for name, wait := range map[string]time.Duration{"no room": 0, "given up": 40 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.hangs = make(chan bool)
				var r *Recorder
				f.analysis = func(context.Context, child.Job) (*history.Explained, time.Duration, error) {
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
				if sum := c.Seen + c.Cut + c.Limited + c.Off + c.Failed; c.Slow != r.slow.Load() || sum != c.Slow || c.Seen == 0 || c.Failed < 100 {
					t.Errorf("%d slow requests: %+v", r.slow.Load(), c)
				}
			})
		})
	}
}
