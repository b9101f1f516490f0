package aiosuite_test

import (
	"fmt"
	"testing"

	"evenkeel.dev/aio/internal/aiosuite"
	"evenkeel.dev/internal/testutil"
)

// TestConformance runs the suite over the fake backend, without faults and with them.
func TestConformance(t *testing.T) {
	seeds := map[aiosuite.Mode][]uint64{aiosuite.Completion: {1}} // TestSimulation has both in each run
	if testutil.Checking() {
		seeds = map[aiosuite.Mode][]uint64{aiosuite.Completion: {1, 2, 3}, aiosuite.Readiness: {1, 2, 3}}
	}
	for _, mode := range []aiosuite.Mode{aiosuite.Completion, aiosuite.Readiness} {
		t.Run(mode.String(), func(t *testing.T) { aiosuite.Run(t, aiosuite.Fake(aiosuite.Options{Mode: mode})) })
		for _, seed := range seeds[mode] {
			t.Run(fmt.Sprintf("%v/faults/seed=%d", mode, seed), func(t *testing.T) {
				aiosuite.Run(t, aiosuite.Fake(aiosuite.Options{Mode: mode, Seed: seed, Faults: aiosuite.AllFaults}))
			})
		}
	}
}
