package aio_test

import (
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/internal/aiosuite"
)

// TestConformance runs the suite over the backends of this system.
func TestConformance(t *testing.T) {
	for _, b := range []aio.Backend{aio.BackendIOUring, aio.BackendEpoll} {
		for _, network := range []string{"tcp", "unix"} {
			t.Run(b.String()+"/"+network, func(t *testing.T) { aiosuite.Run(t, aiosuite.Real(b, network)) })
		}
	}
}
