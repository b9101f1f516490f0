package aiosuite_test

import (
	"fmt"
	"os"
	"testing"

	"evenkeel.dev/internal/aiosuite"
)

// TestConformance runs the suite over the fake backend, without faults and with them.
func TestConformance(t *testing.T) {
	seeds := []uint64{1}
	if os.Getenv("EVENKEEL_CHECK") == "1" {
		seeds = []uint64{1, 2, 3}
	}
	for _, mode := range []aiosuite.Mode{aiosuite.Completion, aiosuite.Readiness} {
		t.Run(mode.String(), func(t *testing.T) { aiosuite.Run(t, aiosuite.Fake(aiosuite.Options{Mode: mode})) })
		for _, seed := range seeds {
			t.Run(fmt.Sprintf("%v/faults/seed=%d", mode, seed), func(t *testing.T) {
				aiosuite.Run(t, aiosuite.Fake(aiosuite.Options{Mode: mode, Seed: seed, Faults: aiosuite.AllFaults}))
			})
		}
	}
}
