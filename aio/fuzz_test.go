package aio_test

import (
	"cmp"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/internal/aiosuite"
)

var seedFlag = flag.Uint64("seed", 0, "play the program of this `seed` only")

// seeds are those of a random test: one that the flag names, else 1 to n. While EVENKEEL_SOAK says
// (a duration), they are fresh ones, which stand in the names of the tests.
func seeds(t *testing.T, n uint64) iter.Seq[uint64] {
	t.Helper()
	soak, err := time.ParseDuration(cmp.Or(os.Getenv("EVENKEEL_SOAK"), "0"))
	must(t, err)
	end := time.Now().Add(soak)
	return func(yield func(uint64) bool) {
		switch {
		case *seedFlag != 0:
			yield(*seedFlag)
		case soak == 0:
			for seed := uint64(1); seed <= n && yield(seed); seed++ {
			}
		default:
			for time.Now().Before(end) && !t.Failed() && yield(rand.Uint64()) {
			}
		}
	}
}

// TestPrograms plays random programs over the backends of this system.
func TestPrograms(t *testing.T) {
	for seed := range seeds(t, 8) {
		network := []string{"tcp", "unix"}[seed%2]
		for _, b := range []aio.Backend{aio.BackendIOUring, aio.BackendEpoll} {
			t.Run(fmt.Sprintf("seed=%d/%v/%s", seed, b, network), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 1))
				program := make([]byte, rng.IntN(500))
				for i := range program {
					program[i] = byte(rng.Uint32())
				}
				aiosuite.Play(t, aiosuite.Real(b, network), program)
			})
		}
	}
}

// FuzzOperations plays a program that the fuzzer writes, over the backends of this system. That
// of package aiotest is the one that finds more: it has no kernel to wait for.
func FuzzOperations(f *testing.F) {
	for _, program := range aiosuite.Programs() {
		f.Add(program)
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		program = program[:min(len(program), 300)] // for the kernel's sake
		for _, b := range []aio.Backend{aio.BackendIOUring, aio.BackendEpoll} {
			aiosuite.Play(t, aiosuite.Real(b, "tcp"), program)
		}
	})
}
