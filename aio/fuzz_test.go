package aio_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/aiosuite"
)

var seedFlag = flag.Uint64("seed", 0, "play the program of this `seed` only")

// TestPrograms plays random programs over the backends of this system.
func TestPrograms(t *testing.T) {
	for seed := range aiosuite.Seeds(t, *seedFlag, 30) {
		network := []string{"tcp", "unix"}[seed%2]
		for _, b := range []aio.Backend{aio.BackendIOUring, aio.BackendEpoll} {
			t.Run(fmt.Sprintf("seed=%d/%v/%s", seed, b, network), func(t *testing.T) {
				aiosuite.Play(t, aiosuite.Real(b, network), program(seed))
			})
		}
	}
}

// program draws a program.
func program(seed uint64) []byte {
	return aiosuite.Program(rand.New(rand.NewPCG(seed, 1)), 500)
}

// FuzzOperations plays a program that the fuzzer writes, over the backends of this system, by TCP or by
// unix sockets. That of package aiosuite is the one that finds more: it has no kernel to wait for.
func FuzzOperations(f *testing.F) {
	for seed := range uint64(16) {
		f.Add(program(seed))
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		program = program[:min(len(program), 300)] // for the kernel's sake
		network := []string{"tcp", "unix"}[len(program)%2]
		for _, b := range []aio.Backend{aio.BackendIOUring, aio.BackendEpoll} {
			aiosuite.Play(t, aiosuite.Real(b, network), program)
		}
	})
}
