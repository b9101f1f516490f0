package aiosuite_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"evenkeel.dev/aio/internal/aiosuite"
)

var seedFlag = flag.Uint64("seed", 0, "run the simulation with this `seed` only")

// TestSimulation plays random programs over the fake backend with random faults.
func TestSimulation(t *testing.T) {
	for seed := range aiosuite.Seeds(t, *seedFlag, 100) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			o := aiosuite.Options{Seed: seed, Mode: aiosuite.Mode(rng.IntN(2)), Faults: faults(rng)}
			aiosuite.Play(t, aiosuite.Fake(o), aiosuite.Program(rng, 1600))
		})
	}
}

// faults draws how often what goes wrong: of a quarter of the seeds nothing.
func faults(rng *rand.Rand) aiosuite.Faults {
	all := aiosuite.AllFaults
	if rng.IntN(4) == 0 {
		return aiosuite.Faults{}
	}
	for _, chance := range []*float64{
		&all.ShortRead, &all.ShortWrite, &all.Again, &all.Spurious, &all.Delay, &all.Reorder, &all.NoBuffers,
		&all.Cancelled, &all.LateCancel,
	} {
		*chance *= 1.6 * rng.Float64()
		if rng.IntN(3) == 0 {
			*chance = 0
		}
	}
	return all
}

// FuzzOperations plays a program that the fuzzer writes; its first two bytes are the fake's.
func FuzzOperations(f *testing.F) {
	for seed := range uint64(16) {
		f.Add(aiosuite.Program(rand.New(rand.NewPCG(seed, 2)), 500))
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		var o aiosuite.Options
		if len(program) > 1 {
			o.Mode = aiosuite.Mode(program[0] & 1)
			if o.Seed = uint64(program[1]); program[0]&2 != 0 {
				o.Faults = aiosuite.AllFaults
			}
			program = program[2:]
		}
		aiosuite.Play(t, aiosuite.Fake(o), program)
	})
}
