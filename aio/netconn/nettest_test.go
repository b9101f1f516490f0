package netconn_test

import (
	"net"
	"testing"

	"golang.org/x/net/nettest"

	"evenkeel.dev/aio/netconn"
	"evenkeel.dev/internal/aiosuite"
)

// TestConn holds a Conn to what x/net asks of any net.Conn, at both ends of a connection. The kqueue
// backend has the same in package aio's tests, where its kernel is.
func TestConn(t *testing.T) {
	onEach(t, func(t *testing.T, sys aiosuite.System) {
		w := drive(t, sys)
		nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
			a, b := sys.Pair(t)
			c1, c2 = over(t, w, a), over(t, w, b)
			return c1, c2, func() { _, _ = c1.Close(), c2.Close() }, nil
		})
	})
}

var _ net.Conn = (*netconn.Conn)(nil)
