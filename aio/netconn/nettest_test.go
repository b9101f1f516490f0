package netconn_test

import (
	"net"
	"testing"

	"golang.org/x/net/nettest"

	"evenkeel.dev/aio/internal/aiosuite"
	"evenkeel.dev/aio/netconn"
	"evenkeel.dev/internal/testutil"
)

// TestConn holds a Conn to what x/net asks of any net.Conn, at both ends of a connection. The kqueue
// backend has the same in package aio's tests, where its kernel is.
func TestConn(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	test := func(t *testing.T, sys aiosuite.System) {
		w := drive(t, sys)
		nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
			a, b := sys.Pair(t)
			c1, c2 = over(t, w, a), over(t, w, b)
			return c1, c2, func() { _, _ = c1.Close(), c2.Close() }, nil
		})
	}
	onEach(t, test)
	faults := aiosuite.Faults{ShortRead: .3, ShortWrite: .3, Spurious: .1, Cancelled: .1, LateCancel: .3} // that take no time
	for _, m := range []aiosuite.Mode{aiosuite.Completion, aiosuite.Readiness} {
		t.Run("faulty/"+m.String(), func(t *testing.T) {
			test(t, aiosuite.Fake(aiosuite.Options{Mode: m, Seed: 5, Faults: faults}))
		})
	}
}

var _ net.Conn = (*netconn.Conn)(nil)
