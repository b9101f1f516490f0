package aio_test

import (
	"net"
	"testing"

	"evenkeel.dev/aio"
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

// none has no deadline.
var none = aio.NoDeadline

// open returns a Watcher that is closed when the test ends.
func open(t testing.TB, o aio.Options) *aio.Watcher {
	t.Helper()
	w := aiosuite.Open(t, o)
	aiosuite.CloseAtEnd(t, w)
	return w
}

// attach attaches c.
func attach(t testing.TB, w *aio.Watcher, c net.Conn) *aio.Conn {
	t.Helper()
	conn, err := w.Attach(c)
	must(t, err)
	return conn
}

// attached returns the two ends of a TCP connection over loopback, the one attached to w.
func attached(t testing.TB, w *aio.Watcher) (conn *aio.Conn, there *net.TCPConn) {
	t.Helper()
	here, there := pair(t)
	return attach(t, w, here), there
}

// wait returns the next n results. Swap buffers in it are copied.
func wait(t testing.TB, w *aio.Watcher, n int) []aio.Result {
	t.Helper()
	return aiosuite.Results(t, w, n, func(r *aio.Result) {
		if r.Swap {
			r.Buffer = append([]byte(nil), r.Buffer...)
		}
	})
}

// only returns the next result.
func only(t testing.TB, w *aio.Watcher) aio.Result {
	t.Helper()
	return wait(t, w, 1)[0]
}

// pump hands each result to f, in a goroutine of its own, until the watcher is closed.
func pump(t testing.TB, w *aio.Watcher, f func(aio.Result)) { aiosuite.Pump(t, w, f) }

// echo answers r, a result of a watcher that echoes, and closes connections that have ended. Each
// connection has one buffer: it is read into, and then written.
func echo(r aio.Result) {
	switch {
	case r.Error != nil:
		_ = r.Conn.Close()
	case r.Op == aio.OpRead:
		_ = r.Conn.Write(nil, r.Buffer[:r.Size], none)
	default:
		_ = r.Conn.Read(nil, r.Buffer[:cap(r.Buffer)], none)
	}
}

// echoes has w echo what comes over c, by a buffer of that size.
func echoes(w *aio.Watcher, c net.Conn, size int) {
	if conn, err := w.Attach(c); err == nil {
		_ = conn.Read(nil, make([]byte, size), none)
	} else {
		_ = c.Close()
	}
}

func TestMain(m *testing.M) { leaks.Main(m) }
