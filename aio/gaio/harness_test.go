package gaio_test

import (
	"io"
	"net"
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/gaio"
	"evenkeel.dev/aio/internal/aiosuite"
	"evenkeel.dev/internal/leaks"
)

// Of the suite, by short names.
const patience = aiosuite.Patience

var (
	child, onEach       = aiosuite.Child, aiosuite.OnEach
	pair, accept, serve = aiosuite.TCP, aiosuite.Accept, aiosuite.Serve
	answered            = aiosuite.Answered
	eventually, must    = aiosuite.Eventually, aiosuite.Must
)

// open returns a Watcher that is closed when the test ends.
func open(t testing.TB, o aio.Options) *gaio.Watcher {
	t.Helper()
	w := gaio.Over(aiosuite.Open(t, o))
	aiosuite.CloseAtEnd(t, w)
	return w
}

// wait returns the next n results. Swap buffers in it are copied.
func wait(t testing.TB, w *gaio.Watcher, n int) []gaio.OpResult {
	t.Helper()
	return aiosuite.Results(t, w, n, func(r *gaio.OpResult) {
		if r.IsSwapBuffer {
			r.Buffer = append([]byte(nil), r.Buffer...)
		}
	})
}

// only returns the next result.
func only(t testing.TB, w *gaio.Watcher) gaio.OpResult {
	t.Helper()
	return wait(t, w, 1)[0]
}

// pump hands each result to f, in a goroutine of its own, until the watcher is closed.
func pump(t testing.TB, w *gaio.Watcher, f func(gaio.OpResult)) { aiosuite.Pump(t, w, f) }

// echo answers r, a result of a watcher that echoes, and frees connections that have ended. Each
// connection has one buffer: it is read into, and then written.
func echo(w *gaio.Watcher, r gaio.OpResult) {
	switch {
	case r.Error != nil:
		_ = w.Free(r.Conn)
	case r.Operation == gaio.OpRead:
		_ = w.Write(nil, r.Conn, r.Buffer[:r.Size])
	default:
		_ = w.Read(nil, r.Conn, r.Buffer[:cap(r.Buffer)])
	}
}

func TestMain(m *testing.M) { leaks.Main(m) }

// ended reports whether c's peer has closed it.
func ended(c net.Conn) bool {
	_, err := c.Read(make([]byte, 1))
	return err == io.EOF
}
