package aiosuite

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"

	"evenkeel.dev/aio"
	"evenkeel.dev/internal/testutil"
)

// System is a backend, with connections for it: see [Run].
type System struct {
	// New makes a Watcher over the backend, or ends the test.
	New func(t *testing.T, o aio.Options) *aio.Watcher

	// Pair makes a connection. One end is for the Watcher. The other is its peer, which has a
	// CloseWrite.
	Pair func(t *testing.T) (conn, peer net.Conn)

	// Listener makes a listener for the Watcher, and a function that connects to it.
	Listener func(t *testing.T) (ln net.Listener, dial func() (peer net.Conn, err error))

	// Bubble runs each test in a bubble of testing/synctest.
	Bubble bool

	// Faulty says that transfers may be late, or move less than they could.
	Faulty bool
}

// Fake returns the System of a [Backend], in bubbles.
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

// Real returns the System of a backend of the operating system, over "tcp" or "unix".
func Real(b aio.Backend, network string) System {
	return Over(network, func(t *testing.T, o aio.Options) *aio.Watcher {
		o.Backend = b
		return open(t, o)
	})
}

// Over returns the System of Watchers over sockets of the operating system.
func Over(network string, watcher func(*testing.T, aio.Options) *aio.Watcher) System {
	return System{
		New:      watcher,
		Pair:     func(t *testing.T) (conn, peer net.Conn) { return Sockets(t, network) },
		Listener: func(t *testing.T) (net.Listener, func() (net.Conn, error)) { return Listening(t, network) },
	}
}

// Listening returns a listener over loopback "tcp" or over "unix", and a function that connects to
// it.
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

// Buffers are small, so that back-pressure shows soon. With smaller ones TCP waits for timers.
const (
	fakeBuffer = 8 << 10
	realBuffer = 64 << 10
)

// Sockets returns a connection over loopback "tcp" or over "unix", with small buffers.
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

// reset ends a connection. The other end finds ECONNRESET if it has sent something that peer did
// not read. It returns false if peer cannot be reset.
func reset(peer net.Conn) bool {
	switch c := peer.(type) {
	case interface{ Reset() error }:
		_ = c.Reset()
	case *net.TCPConn:
		_ = c.SetLinger(0)
		_ = c.Close()
	case *net.UnixConn:
		if runtime.GOOS != "linux" {
			return false
		}
		_ = c.Close() // resets with unread data
	default:
		return false
	}
	return true
}

// Run runs the conformance suite.
func Run(t *testing.T, sys System) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sys.run(t, func(t *testing.T) { tt.run(newRig(t, sys, aio.Options{})) })
		})
	}
	t.Run("SubmissionBeforeWaiting", func(t *testing.T) { // a bubble would wait for goroutines that spin
		submissionBeforeWaiting(newRig(t, sys, aio.Options{}))
	})
}

func (sys *System) run(t *testing.T, test func(*testing.T)) {
	if sys.Bubble {
		synctest.Test(t, test)
	} else {
		test(t)
	}
}
