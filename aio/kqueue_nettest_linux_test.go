package aio_test

import (
	"errors"
	"net"
	"testing"

	"golang.org/x/net/nettest"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/aiosuite"
	"evenkeel.dev/aio/netconn"
)

// TestNetconnKqueue holds connections that block to what any net.Conn has to do, over the kqueue backend and a
// fake kernel. Package netconn has the other backends.
func TestNetconnKqueue(t *testing.T) {
	for _, network := range kqueueNetworks() {
		t.Run(network, func(t *testing.T) {
			w := newKqueue(t, aio.Options{}, false)
			driven := make(chan error, 1)
			go func() { driven <- netconn.Drive(w) }()
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				a, b := aiosuite.Sockets(t, network)
				x, y := attach(t, w, a), attach(t, w, b)
				c1, c2 = netconn.New(x), netconn.New(y)
				return c1, c2, func() { _, _ = c1.Close(), c2.Close() }, nil
			})
			must(t, errors.Join(w.Close(), <-driven))
		})
	}
}
