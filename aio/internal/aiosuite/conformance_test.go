package aiosuite

import (
	"fmt"
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/internal/testutil"
)

// TestConformance runs the suite over the fake backend, without faults and with them, and over the
// backends of this system. TestSimulation has faults in both modes, and the kqueue backend has unix
// sockets, so only make check runs these here.
func TestConformance(t *testing.T) {
	seeds, networks := map[Mode][]uint64{Completion: {1}}, []string{"tcp"}
	if testutil.Checking() {
		seeds = map[Mode][]uint64{Completion: {1, 2, 3}, Readiness: {1, 2, 3}}
		networks = append(networks, "unix")
	}
	for _, mode := range []Mode{Completion, Readiness} {
		t.Run(mode.String(), func(t *testing.T) { runSuite(t, Fake(Options{Mode: mode})) })
		for _, seed := range seeds[mode] {
			t.Run(fmt.Sprintf("%v/faults/seed=%d", mode, seed), func(t *testing.T) {
				runSuite(t, Fake(Options{Mode: mode, Seed: seed, Faults: AllFaults(1)}))
			})
		}
	}
	for _, b := range []aio.Backend{aio.BackendIOUring, aio.BackendEpoll} {
		for _, network := range networks {
			t.Run(b.String()+"/"+network, func(t *testing.T) { runSuite(t, Real(b, network)) })
		}
	}
}
