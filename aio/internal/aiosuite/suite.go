package aiosuite

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/proactor"
	"evenkeel.dev/internal/testutil"
)

// System is what [Run] tests: a backend, and connections for it.
type System struct {
	// New makes a Watcher over the backend. It ends the test when it cannot.
	New func(t *testing.T, o aio.Options) *aio.Watcher

	// Pair makes a connection: the one end is for the Watcher, the other is its peer, which
	// blocks. It has a CloseWrite, and is a *net.TCPConn or has a Reset, else it cannot be reset.
	Pair func(t *testing.T) (conn, peer net.Conn)

	// Listener makes a listener for the Watcher, and what connects to it as a peer that blocks.
	Listener func(t *testing.T) (ln net.Listener, dial func() (peer net.Conn, err error))

	// Bubble has each test run in a bubble of testing/synctest.
	Bubble bool

	// Faulty says that a transfer may take longer than it must, and a buffer take less.
	Faulty bool
}

// Fake returns the System of a [Backend] and [Pair].
func Fake(o Options) System {
	s := Over(func(t *testing.T) proactor.Backend {
		b := NewBackend(o)
		t.Cleanup(func() {
			for _, v := range b.Violations() {
				t.Error("the backend's contract:", v)
			}
		})
		return b
	})
	s.Faulty = o.Faults != Faults{}
	return s
}

// Over returns the System of any backend for [Pair], whose ends it finds by [Conn.Dup], in bubbles.
func Over(open func(t *testing.T) proactor.Backend) System {
	return System{
		New: func(t *testing.T, o aio.Options) *aio.Watcher {
			w, err := NewWatcher(o, open(t))
			if err != nil {
				t.Fatal(err)
			}
			return w
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
	}
}

// Real returns the System of a backend of the operating system, over "tcp" or "unix".
func Real(b aio.Backend, network string) System {
	return System{
		New: func(t *testing.T, o aio.Options) *aio.Watcher {
			o.Backend = b
			w, err := aio.New(o)
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skipf("needs the backend %v: %v", b, err)
			}
			if err != nil {
				t.Fatal(err)
			}
			return w
		},
		Pair:     func(t *testing.T) (conn, peer net.Conn) { return Sockets(t, network) },
		Listener: func(t *testing.T) (net.Listener, func() (net.Conn, error)) { return Listening(t, network) },
	}
}

// Listening returns a listener over loopback "tcp" or over "unix", and what connects to it.
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

// shrink sets the buffers of a connection to realBuffer.
func shrink(c net.Conn) {
	if b, ok := c.(interface {
		SetReadBuffer(int) error
		SetWriteBuffer(int) error
	}); ok {
		_ = b.SetReadBuffer(realBuffer)
		_ = b.SetWriteBuffer(realBuffer)
	}
}

// Buffers are such that back-pressure shows soon. Where TCP's are smaller, it waits for timers.
const (
	fakeBuffer = 8 << 10
	realBuffer = 64 << 10
)

// Sockets returns a connection over loopback "tcp" or over "unix", with small buffers.
func Sockets(t testing.TB, network string) (conn, peer net.Conn) {
	t.Helper()
	at := "127.0.0.1:0"
	if network == "unix" {
		dir, err := os.MkdirTemp("", "aio") // t.TempDir may be too long for an address
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		at = filepath.Join(dir, "s")
	}
	l, err := net.Listen(network, at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	peer, err = net.Dial(network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err = l.Accept()
	if err != nil {
		_ = peer.Close()
		t.Fatal(err)
	}
	shrink(conn)
	shrink(peer)
	return conn, peer
}

// reset ends a connection such that the other end finds ECONNRESET, when it has sent something that
// peer did not read. It reports false where peer cannot.
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
		_ = c.Close() // a reset when there is something that it has not read
	default:
		return false
	}
	return true
}

// test is one of the suite.
type test struct {
	name    string
	run     func(*rig)
	outside bool // not in a bubble: it has goroutines spin
}

// Run runs the conformance suite.
func Run(t *testing.T, sys System) {
	var all []test
	all = append(all, contractTests...)
	all = append(all, queueTests...)
	all = append(all, deadlineTests...)
	all = append(all, swapTests...)
	all = append(all, peerTests...)
	all = append(all, closeTests...)
	all = append(all, writevTests...)
	all = append(all, tryWriteTests...)
	all = append(all, limitTests...)
	all = append(all, endingTests...)
	all = append(all, cancelTests...)
	all = append(all, concurrentTests...)
	all = append(all, postTests...)
	all = append(all, fairTests...)
	all = append(all, acceptTests...)
	all = append(all, dialTests...)
	all = append(all, detachTests...)
	all = append(all, stormTests...)
	for _, tt := range all {
		t.Run(tt.name, func(t *testing.T) {
			run := func(t *testing.T) { tt.run(newRig(t, sys, aio.Options{})) }
			if sys.Bubble && !tt.outside {
				synctest.Test(t, run)
			} else {
				run(t)
			}
		})
	}
}
