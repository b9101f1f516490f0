package aiosuite

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/internal/testutil"
)

type System struct {
	New func(t *testing.T, o aio.Options) *aio.Watcher

	// Pair makes a connection. The peer has a CloseWrite.
	Pair func(t *testing.T) (conn, peer net.Conn)

	// Listener makes a listener for the Watcher, and a function that connects to it.
	Listener func(t *testing.T) (ln net.Listener, dial func() (peer net.Conn, err error))

	// Bubble runs each test in a bubble of testing/synctest.
	Bubble bool

	// Faulty says that transfers may be late, or move less than they could.
	Faulty bool
}

// Fake is a [Backend], in bubbles.
func Fake(o Options) System {
	return System{
		New: func(t *testing.T, w aio.Options) *aio.Watcher {
			b := NewBackend(o)
			t.Cleanup(func() {
				for _, v := range b.Violations() {
					t.Error("the backend's contract:", v)
				}
			})
			watcher, err := NewWatcher(w, b)
			Must(t, err)
			return watcher
		},
		Pair: func(*testing.T) (conn, peer net.Conn) {
			a, b := Pair(fakeBuffer)
			return a, b
		},
		Listener: func(*testing.T) (net.Listener, func() (net.Conn, error)) {
			ln := NewListener(fakeBuffer)
			return ln, ln.Dial
		},
		Bubble: true,
		Faulty: o.Faults != Faults{},
	}
}

// Real is a backend of the operating system, over "tcp" or "unix".
func Real(b aio.Backend, network string) System {
	return Over(network, func(t *testing.T, o aio.Options) *aio.Watcher {
		o.Backend = b
		return Open(t, o)
	})
}

func Over(network string, watcher func(*testing.T, aio.Options) *aio.Watcher) System {
	return System{
		New:      watcher,
		Pair:     func(t *testing.T) (conn, peer net.Conn) { return Sockets(t, network) },
		Listener: func(t *testing.T) (net.Listener, func() (net.Conn, error)) { return Listening(t, network) },
	}
}

// Listening returns a listener over "tcp" or "unix", and a function that connects to it.
func Listening(t testing.TB, network string) (net.Listener, func() (net.Conn, error)) {
	t.Helper()
	at := testutil.Loopback() + ":0"
	if network == "unix" {
		dir, err := os.MkdirTemp("", "aio") // t.TempDir may be too long for an address
		Must(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		at = filepath.Join(dir, "s")
	}
	ln, err := net.Listen(network, at)
	Must(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	at = ln.Addr().String()
	return ln, func() (net.Conn, error) {
		peer, err := net.Dial(network, at)
		if err == nil {
			shrink(peer)
		}
		return peer, err
	}
}

func shrink(c net.Conn) {
	if b, ok := c.(interface {
		SetReadBuffer(int) error
		SetWriteBuffer(int) error
	}); ok {
		_ = b.SetReadBuffer(realBuffer)
		_ = b.SetWriteBuffer(realBuffer)
	}
}

// Small buffers show back-pressure soon. With smaller ones TCP waits for timers.
const (
	fakeBuffer = 8 << 10
	realBuffer = 64 << 10
)

// Sockets returns a connection over "tcp" or "unix" with small buffers.
func Sockets(t testing.TB, network string) (conn, peer net.Conn) {
	t.Helper()
	ln, dial := Listening(t, network)
	defer func() { _ = ln.Close() }()
	peer, err := dial()
	Must(t, err)
	if conn, err = ln.Accept(); err != nil {
		_ = peer.Close()
		t.Fatal(err)
	}
	shrink(conn)
	return conn, peer
}
