package netconn_test

import (
	"errors"
	"net"
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/aiosuite"
	"evenkeel.dev/aio/netconn"
)

var must = aiosuite.Must

// onEach runs f over the backends of this system, TCP and Unix, and over the network in memory, in the
// way of io_uring and of epoll.
func onEach(t *testing.T, f func(t *testing.T, sys aiosuite.System)) {
	for _, b := range aiosuite.Backends() {
		for _, network := range []string{"tcp", "unix"} {
			t.Run(b.String()+"/"+network, func(t *testing.T) { f(t, aiosuite.Real(b, network)) })
		}
	}
	for _, m := range []aiosuite.Mode{aiosuite.Completion, aiosuite.Readiness} {
		t.Run("fake/"+m.String(), func(t *testing.T) { f(t, aiosuite.Fake(aiosuite.Options{Mode: m})) })
	}
}

// drive returns a Watcher that is driven until the test ends.
func drive(t *testing.T, sys aiosuite.System) *aio.Watcher {
	t.Helper()
	return driveWith(t, sys, aio.Options{})
}

// driveWith is drive with options.
func driveWith(t *testing.T, sys aiosuite.System, o aio.Options) *aio.Watcher {
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
func pair(t *testing.T, sys aiosuite.System) (c *netconn.Conn, peer net.Conn) {
	t.Helper()
	return pairOn(t, sys, drive(t, sys))
}

// pairOn is pair on a Watcher.
func pairOn(t *testing.T, sys aiosuite.System, w *aio.Watcher) (c *netconn.Conn, peer net.Conn) {
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
