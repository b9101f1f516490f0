package aio_test

import (
	"net"
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/internal/aiosuite"
)

// TestConformanceKqueue runs the suite over the kqueue backend and a fake kernel.
func TestConformanceKqueue(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			aiosuite.Run(t, aiosuite.System{
				New:      func(t *testing.T, o aio.Options) *aio.Watcher { return newKqueue(t, o, false) },
				Pair:     func(t *testing.T) (conn, peer net.Conn) { return aiosuite.Sockets(t, network) },
				Listener: func(t *testing.T) (net.Listener, func() (net.Conn, error)) { return aiosuite.Listening(t, network) },
			})
		})
	}
}
