package aio_test

import (
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/aiotest"
)

// TestConformance runs the suite over the backends of this system.
func TestConformance(t *testing.T) {
	for _, b := range []aio.Backend{aio.IOUring, aio.Epoll} {
		for _, network := range []string{"tcp", "unix"} {
			t.Run(b.String()+"/"+network, func(t *testing.T) { aiotest.Run(t, aiotest.Real(b, network)) })
		}
	}
}
