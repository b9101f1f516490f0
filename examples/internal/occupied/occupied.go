// Package occupied has the examples' tests see what they do where WaitIO cannot wait.
package occupied

import (
	"testing"
	"testing/synctest"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/aiotest"
)

// Test calls run with a Watcher for which another goroutine waits, and a Listener that nobody
// connects to. run has to end with what WaitIO says of that.
func Test(t *testing.T, run func(w *aio.Watcher, l *aio.Listener) error) {
	t.Helper()
	closed, err := aio.New(aio.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := closed.Listen("tcp", "127.0.0.1:0", aio.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	synctest.Test(t, func(t *testing.T) {
		w, err := aiotest.NewWatcher(aio.Options{}, aiotest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		go w.WaitIO()
		synctest.Wait()
		if err := run(w, l); err != aio.ErrWaiting {
			t.Errorf("it ends with %v, want %v", err, aio.ErrWaiting)
		}
	})
}
