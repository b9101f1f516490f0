package aio_test

import (
	"fmt"
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/aiosuite"
	"evenkeel.dev/internal/testutil"
)

// kqueueSystem is the kqueue backend over a fake kernel.
func kqueueSystem(network string) aiosuite.System {
	return aiosuite.Over(network, func(t *testing.T, o aio.Options) *aio.Watcher { return newKqueue(t, o, false) })
}

// kqueueNetworks are those of the tests below: TCP is make check's, as the backends of this system have it in each run.
func kqueueNetworks() []string {
	if testutil.Checking() {
		return []string{"unix", "tcp"}
	}
	return []string{"unix"}
}

// TestConformanceKqueue runs the suite over it.
func TestConformanceKqueue(t *testing.T) {
	for _, network := range kqueueNetworks() {
		t.Run(network, func(t *testing.T) { aiosuite.Run(t, kqueueSystem(network)) })
	}
}

// TestProgramsKqueue plays random programs over it.
func TestProgramsKqueue(t *testing.T) {
	for seed := range aiosuite.Seeds(t, *seedFlag, 30) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			aiosuite.Play(t, kqueueSystem([]string{"tcp", "unix"}[seed%2]), program(seed))
		})
	}
}
