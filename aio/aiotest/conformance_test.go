package aiotest_test

import (
	"fmt"
	"testing"

	"evenkeel.dev/aio/aiotest"
)

// TestConformance runs the suite over the fake backend, without faults and with them.
func TestConformance(t *testing.T) {
	for _, mode := range []aiotest.Mode{aiotest.Completion, aiotest.Readiness} {
		t.Run(mode.String(), func(t *testing.T) { aiotest.Run(t, aiotest.Fake(aiotest.Options{Mode: mode})) })
		for _, seed := range []uint64{1, 2, 3} {
			t.Run(fmt.Sprintf("%v/faults/seed=%d", mode, seed), func(t *testing.T) {
				aiotest.Run(t, aiotest.Fake(aiotest.Options{Mode: mode, Seed: seed, Faults: aiotest.AllFaults}))
			})
		}
	}
}
