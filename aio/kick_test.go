package aio_test

import (
	"context"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

// The tests in this file have WaitIO wait for something that began, or was cancelled, after the
// kernel was asked last: it must get to the kernel before WaitIO parks.

// TestDeadlineWhileNothingElseHappens: the deadline's cancellation is all that happens.
func TestDeadlineWhileNothingElseHappens(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		for name, read := range map[string]func(w *aio.Watcher, c *aio.Conn, deadline time.Time) error{
			"buffer":      func(w *aio.Watcher, c *aio.Conn, d time.Time) error { return w.ReadTimeout(nil, c, make([]byte, 1), d) },
			"swap buffer": func(w *aio.Watcher, c *aio.Conn, d time.Time) error { return w.ReadTimeout(nil, c, nil, d) },
		} {
			t.Run(name, func(t *testing.T) {
				w := open(t, aio.Options{Backend: b})
				here, _ := pair(t)
				c, err := w.Attach(here)
				must(t, err)
				must(t, read(w, c, time.Now().Add(20*time.Millisecond)))
				start := time.Now()
				r := only(t, w)
				if took := time.Since(start); r.Error != aio.ErrDeadline || took > patience/2 {
					t.Errorf("%v after %v, want %v", r.Error, took, aio.ErrDeadline)
				}
			})
		}
	})
}

// TestReadFullInPieces: each piece leaves a rest to be read, and nothing else to do.
func TestReadFullInPieces(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		here, there := pair(t)
		buf := make([]byte, 4)
		must(t, w.ReadFull(nil, here, buf, time.Time{}))
		go func() {
			parks := uint64(0)
			for _, piece := range []string{"a", "b", "c", "d"} {
				for w.Stats().Parks == parks { // nothing else to do
					time.Sleep(time.Millisecond)
				}
				parks = w.Stats().Parks
				_, _ = there.Write([]byte(piece))
			}
		}()
		if r := only(t, w); string(buf) != "abcd" || r.Size != 4 || r.Error != nil {
			t.Errorf("%q, size %d, %v", buf, r.Size, r.Error)
		}
	})
}

// TestShutdownWhileWaiting: the reads are cancelled from another goroutine than that in WaitIO.
func TestShutdownWhileWaiting(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		here, _ := pair(t)
		got := make(chan error, 2)
		pump(t, w, func(r aio.OpResult) { got <- r.Error })
		must(t, w.Read(nil, here, make([]byte, 1)))
		eventually(t, "WaitIO waits", func() bool { s := w.Stats(); return s.Operations == 1 && s.Parks > 0 })
		ctx, cancel := context.WithTimeout(t.Context(), patience/2)
		defer cancel()
		must(t, w.Shutdown(ctx))
		if err := <-got; err != aio.ErrWatcherClosed {
			t.Errorf("%v, want %v", err, aio.ErrWatcherClosed)
		}
	})
}
