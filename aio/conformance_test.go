package aio_test

import (
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/aiosuite"
	"evenkeel.dev/internal/testutil"
)

// TestConformance runs the suite over the backends of this system. Unix sockets, which the kqueue backend has in each run,
// are make check's.
func TestConformance(t *testing.T) {
	networks := []string{"tcp"}
	if testutil.Checking() {
		networks = append(networks, "unix")
	}
	for _, b := range []aio.Backend{aio.BackendIOUring, aio.BackendEpoll} {
		for _, network := range networks {
			t.Run(b.String()+"/"+network, func(t *testing.T) { aiosuite.Run(t, aiosuite.Real(b, network)) })
		}
	}
}
