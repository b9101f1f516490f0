package aio_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/aiotest"
)

var seedFlag = flag.Uint64("seed", 0, "play the program of this `seed` only")

// TestPrograms plays random programs over the backends of this system.
func TestPrograms(t *testing.T) {
	seeds := make([]uint64, 8)
	for i := range seeds {
		seeds[i] = rand.Uint64()
	}
	if *seedFlag != 0 {
		seeds = []uint64{*seedFlag}
	}
	for _, b := range []aio.Backend{aio.IOUring, aio.Epoll} {
		for i, seed := range seeds {
			network := []string{"tcp", "unix"}[i%2]
			t.Run(fmt.Sprintf("%v/%s/seed=%d", b, network, seed), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 1))
				program := make([]byte, rng.IntN(500))
				for i := range program {
					program[i] = byte(rng.Uint32())
				}
				aiotest.Play(t, aiotest.Real(b, network), program)
			})
		}
	}
}

// FuzzOperations plays a program that the fuzzer writes, over the backends of this system. That
// of package aiotest is the one that finds more: it has no kernel to wait for.
func FuzzOperations(f *testing.F) {
	for _, program := range aiotest.Programs() {
		f.Add(program)
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		program = program[:min(len(program), 300)] // for the kernel's sake
		for _, b := range []aio.Backend{aio.IOUring, aio.Epoll} {
			aiotest.Play(t, aiotest.Real(b, "tcp"), program)
		}
	})
}
