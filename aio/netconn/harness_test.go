package netconn_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/net/nettest"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/aiosuite"
	"evenkeel.dev/aio/netconn"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/testutil"
)

var must = aiosuite.Must

// onEach runs f over the backends of this system, TCP and Unix, and over the network in memory, in the
// way of io_uring and of epoll.
func onEach(t *testing.T, f func(t *testing.T, sys system)) {
	for _, b := range aiosuite.Backends() {
		for _, network := range []string{"tcp", "unix"} {
			t.Run(b.String()+"/"+network, func(t *testing.T) { f(t, overKernel(b, network)) })
		}
	}
	for _, m := range []aiosuite.Mode{aiosuite.Completion, aiosuite.Readiness} {
		t.Run("fake/"+m.String(), func(t *testing.T) { f(t, inMemory(aiosuite.Options{Mode: m})) })
	}
}

// system makes Watchers, and connections for them.
type system struct {
	New  func(t *testing.T, o aio.Options) *aio.Watcher
	Pair func(t *testing.T) (conn, peer net.Conn)
}

// inMemory is aiosuite's backend.
func inMemory(o aiosuite.Options) system {
	return system{
		New: func(t *testing.T, w aio.Options) *aio.Watcher {
			b := aiosuite.NewBackend(o)
			t.Cleanup(func() {
				for _, v := range b.Violations() {
					t.Error("the backend's contract:", v)
				}
			})
			watcher, err := aiosuite.NewWatcher(w, b)
			must(t, err)
			return watcher
		},
		Pair: func(*testing.T) (conn, peer net.Conn) {
			a, b := aiosuite.Pair(8 << 10)
			return a, b
		},
	}
}

// overKernel is a backend of the operating system, over "tcp" or "unix".
func overKernel(b aio.Backend, network string) system {
	return system{
		New: func(t *testing.T, o aio.Options) *aio.Watcher {
			o.Backend = b
			return aiosuite.Open(t, o)
		},
		Pair: func(t *testing.T) (conn, peer net.Conn) { return sockets(t, network) },
	}
}

// sockets returns a connection whose small buffers show back-pressure soon.
func sockets(t *testing.T, network string) (conn, peer net.Conn) {
	t.Helper()
	at := testutil.Loopback() + ":0"
	if network == "unix" {
		dir, err := os.MkdirTemp("", "netconn") // t.TempDir may be too long for an address
		must(t, err)
		defer func() { _ = os.RemoveAll(dir) }()
		at = filepath.Join(dir, "s")
	}
	ln, err := net.Listen(network, at)
	must(t, err)
	defer func() { _ = ln.Close() }()
	peer, err = net.Dial(network, ln.Addr().String())
	must(t, err)
	if conn, err = ln.Accept(); err != nil {
		_ = peer.Close()
		t.Fatal(err)
	}
	const buffer = 64 << 10 // with smaller ones TCP waits for timers
	for _, c := range []net.Conn{conn, peer} {
		c := c.(interface {
			SetReadBuffer(int) error
			SetWriteBuffer(int) error
		})
		_, _ = c.SetReadBuffer(buffer), c.SetWriteBuffer(buffer)
	}
	return conn, peer
}

// drive returns a Watcher that is driven until the test ends.
func drive(t *testing.T, sys system) *aio.Watcher {
	t.Helper()
	return driveWith(t, sys, aio.Options{})
}

// driveWith is drive with options.
func driveWith(t *testing.T, sys system, o aio.Options) *aio.Watcher {
	t.Helper()
	w := sys.New(t, o)
	driven := make(chan error, 1)
	go func() { driven <- netconn.Drive(w) }()
	t.Cleanup(func() {
		if err := errors.Join(w.Close(), <-driven); err != nil {
			t.Error(err)
		}
	})
	return w
}

// pair returns a Conn and its peer, which are closed when the test ends.
func pair(t *testing.T, sys system) (c *netconn.Conn, peer net.Conn) {
	t.Helper()
	return pairOn(t, sys, drive(t, sys))
}

// pairOn is pair on a Watcher.
func pairOn(t *testing.T, sys system, w *aio.Watcher) (c *netconn.Conn, peer net.Conn) {
	t.Helper()
	own, peer := sys.Pair(t)
	c = over(t, w, own)
	t.Cleanup(func() { _, _ = c.Close(), peer.Close() })
	return c, peer
}

// over attaches a connection.
func over(t *testing.T, w *aio.Watcher, conn net.Conn) *netconn.Conn {
	t.Helper()
	handle, err := w.Attach(conn)
	must(t, err)
	return netconn.New(handle)
}

// TestConn holds a Conn to what x/net asks of any net.Conn, at both ends of a connection. The kqueue
// backend has the same in package aio's tests, where its kernel is.
func TestConn(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	test := func(t *testing.T, sys system) {
		w := drive(t, sys)
		nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
			a, b := sys.Pair(t)
			c1, c2 = over(t, w, a), over(t, w, b)
			return c1, c2, func() { _, _ = c1.Close(), c2.Close() }, nil
		})
	}
	onEach(t, test)
	// that take no time
	faults := aiosuite.Faults{ShortRead: .3, ShortWrite: .3, Spurious: .1, Cancelled: .1, LateCancel: .3}
	for _, m := range []aiosuite.Mode{aiosuite.Completion, aiosuite.Readiness} {
		t.Run("faulty/"+m.String(), func(t *testing.T) {
			test(t, inMemory(aiosuite.Options{Mode: m, Seed: 5, Faults: faults}))
		})
	}
}

var _ net.Conn = (*netconn.Conn)(nil)

func TestMain(m *testing.M) { leaks.Main(m) }
