package aiosuite

import (
	"errors"
	"io"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/internal/testutil"
)

// Waiter is a Watcher of aio or of a layer over it.
type Waiter[R any] interface {
	WaitIO() ([]R, error)
	Close() error
}

// Open returns a Watcher without a log. It skips the test if the backend is not available.
func Open(t testing.TB, o aio.Options) *aio.Watcher {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return open(t, o)
}

// open is Open with the Logger of o.
func open(t testing.TB, o aio.Options) *aio.Watcher {
	t.Helper()
	w, err := aio.New(o)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("needs %v: %v", o.Backend, err)
	}
	Must(t, err)
	return w
}

// CloseAtEnd closes w when the test ends. After Patience it closes w and fails the test.
func CloseAtEnd(t testing.TB, w io.Closer) {
	late := time.AfterFunc(Patience, func() { w.Close() })
	t.Cleanup(func() {
		if !late.Stop() {
			t.Errorf("the watcher was closed after %v: something did not come", Patience)
		}
		w.Close()
	})
}

// Results returns the next n results, after keep has copied what the next WaitIO overwrites.
func Results[R any](t testing.TB, w Waiter[R], n int, keep func(*R)) []R {
	t.Helper()
	var all []R
	for len(all) < n {
		results, err := w.WaitIO()
		if err != nil {
			t.Fatalf("WaitIO after %d of %d results: %v", len(all), n, err)
		}
		for _, r := range results {
			keep(&r)
			all = append(all, r)
		}
	}
	if len(all) > n {
		t.Fatalf("%d results instead of %d", len(all), n)
	}
	return all
}

// Pump calls f with each result, in another goroutine, until the test ends.
func Pump[R any](t testing.TB, w Waiter[R], f func(R)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			results, err := w.WaitIO()
			if err != nil {
				return
			}
			for _, r := range results {
				f(r)
			}
		}
	}()
	t.Cleanup(func() { w.Close(); <-done })
}

// EchoAllocates returns the allocations of one echo. there sends the message, read and write begin
// an operation, and wait returns what it has transferred.
func EchoAllocates(t *testing.T, there net.Conn, read, write func(buf []byte) error,
	wait func() ([]byte, error),
) float64 {
	t.Helper()
	message, answer, buf := make([]byte, 64), make([]byte, 64), make([]byte, 64)
	ended := func() []byte {
		data, err := wait()
		if err != nil || len(data) != len(message) {
			t.Fatalf("%d bytes, %v", len(data), err)
		}
		return data
	}
	echo := func() {
		_, err := there.Write(message)
		Must(t, err)
		Must(t, read(buf))
		copy(buf, ended())
		Must(t, write(buf))
		ended()
		_, err = io.ReadFull(there, answer)
		Must(t, err)
	}
	for range 100 {
		echo()
	}
	return testing.AllocsPerRun(200, echo)
}

// Seeds are those of a random test: named unless it is 0, else 1 to n. make soak has fresh ones.
func Seeds(t *testing.T, named, n uint64) iter.Seq[uint64] {
	t.Helper()
	soak := testutil.Soak()
	end := time.Now().Add(soak)
	return func(yield func(uint64) bool) {
		switch {
		case named != 0:
			yield(named)
		case soak == 0:
			for seed := uint64(1); seed <= n && yield(seed); seed++ {
			}
		default:
			for time.Now().Before(end) && !t.Failed() && yield(rand.Uint64()) {
			}
		}
	}
}
