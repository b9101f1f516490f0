package gcgate

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/internal/testutil"
)

var seedFlag = flag.Uint64("seed", 0, "run the simulation with this `seed` only")

// times returns how many a test has: few in make test, all in make check.
func times(few, all int) int {
	if testutil.Checking() {
		return all
	}
	return few
}

// TestSimulation runs groups of replicas, with faults, for some minutes of fake time, and
// holds the invariants:
//   - never more than k replicas of a group are out with the turn
//   - nothing is refused under Drain
//   - each gate comes back, and collects again once the faults have ended
//
// The seeds are fixed; TestSoak takes fresh ones.
func TestSimulation(t *testing.T) {
	seeds := []uint64{1, 2, 3}
	if testutil.Checking() {
		seeds = append(seeds, 4, 5, 6, 7, 8)
	}
	if *seedFlag != 0 {
		seeds = []uint64{*seedFlag}
	}
	for _, seed := range seeds {
		if simulateSeed(t, seed) == 0 {
			t.Errorf("seed %d never saw a collection", seed)
		}
	}
}

// TestSoak is TestSimulation with fresh seeds for as long as make soak says.
func TestSoak(t *testing.T) {
	length := testutil.Soak()
	if length == 0 {
		t.Skip("make soak runs it")
	}
	seen := int64(0) // a seed may stop its busy replicas first
	for end := time.Now().Add(length); time.Now().Before(end) && !t.Failed(); {
		seen += simulateSeed(t, rand.Uint64())
	}
	if seen == 0 {
		t.Error("no seed saw a collection")
	}
}

// simulateSeed names the seed, which -seed runs again. It returns how many replicas it saw collect
// at a time.
func simulateSeed(t *testing.T, seed uint64) (most int64) {
	t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { most = simulate(t, rand.New(rand.NewPCG(seed, 1))) })
	})
	return most
}

// simulated is a process of the simulation.
type simulated struct {
	*rig
	signal  *fakeSignal
	running bool
}

func simulate(t *testing.T, rng *rand.Rand) int64 {
	n := 2 + rng.IntN(4)
	turns := &fakeTurns{k: 1 + rng.IntN(n-1)}
	queue := &fakeQueue{k: turns.k}
	shared := Turns(turns)
	if rng.IntN(2) == 0 {
		shared = queue // no turns with faults then
	}
	var replicas []*simulated
	for range n {
		h, s := gcgatetest.NewHeap(), &fakeSignal{takes: time.Duration(rng.IntN(20)) * time.Millisecond}
		h.Live = uint64(20+rng.IntN(500)) * mib
		h.Rate = float64(rng.IntN(400)) * mib
		h.Mark = time.Duration(1+rng.IntN(600)) * time.Millisecond
		h.Sweep = time.Duration(rng.IntN(2000)) * time.Millisecond
		h.Available = uint64(rng.IntN(32<<10)) * mib
		o := Options{
			Policy: PolicyDrain, Signals: []Signal{s}, Turns: shared,
			DrainTimeout: time.Duration(1+rng.IntN(200)) * time.Millisecond,
		}
		r := &simulated{rig: startRig(t, o, h), signal: s, running: true}
		r.traffic()
		replicas = append(replicas, r)
	}
	var most atomic.Int64
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		time.Sleep(time.Duration(1+rng.IntN(50)) * time.Millisecond)
		fault(rng, turns, replicas[rng.IntN(n)], left(replicas) > 1)
		with := 0
		for _, r := range replicas {
			if r.Refusing() {
				t.Fatal("policy Drain refuses")
			}
			if r.running && r.State() == StateCollecting {
				with++
			}
		}
		with -= withoutTurn(replicas)
		most.Store(max(most.Load(), int64(with)))
		if with > turns.k {
			t.Fatalf("%d replicas collect with a turn, %d may", with, turns.k)
		}
	}
	turns.mu.Lock()
	turns.err, turns.takes = nil, 0
	turns.mu.Unlock()
	for _, r := range replicas {
		r.signal.set(func() { r.signal.err = nil })
		if !r.running {
			continue
		}
		r.heap.Do(func() { r.heap.Rate = 100 * mib; r.heap.Live = min(r.heap.Live, 100*mib) })
	}
	time.Sleep(30 * time.Second)
	for i, r := range replicas {
		if !r.running {
			continue
		}
		before := r.Stats()
		r.until(t, StateCollecting)
		r.until(t, StateServing)
		if before.Policy != PolicyDrain {
			t.Errorf("replica %d: %+v", i, before)
		}
		r.Stop()
		if r.signal.isDrained() {
			t.Errorf("replica %d stopped, and its peer has it drained", i)
		}
	}
	time.Sleep(2 * time.Second)
	if turns.holders() > 0 || queue.held > 0 || queue.places() > 0 {
		t.Errorf("%d turns are held by no replica, and of a queue %d; %d places in it are taken", turns.holders(),
			queue.held, queue.places())
	}
	return most.Load()
}

func left(replicas []*simulated) (n int) {
	for _, r := range replicas {
		if r.running {
			n++
		}
	}
	return n
}

// withoutTurn counts the replicas that collect without a turn, as they must at the hard threshold.
func withoutTurn(replicas []*simulated) (n int) {
	for _, r := range replicas {
		r.mu.Lock()
		if k := len(r.events); r.running && k > 0 && r.State() == StateCollecting && r.events[k-1].WithoutTurn {
			n++
		}
		r.mu.Unlock()
	}
	return n
}

// fault breaks something, or mends it. It stops r only if stops is true: one replica has to be left,
// which must collect when the faults have ended.
func fault(rng *rand.Rand, turns *fakeTurns, r *simulated, stops bool) {
	switch rng.IntN(200) {
	case 0:
		turns.mu.Lock()
		turns.err = errors.New("the store is down")
		turns.mu.Unlock()
	case 1, 2:
		turns.mu.Lock()
		turns.err = nil
		turns.takes = time.Duration(rng.IntN(30)) * time.Millisecond
		turns.mu.Unlock()
	case 3:
		r.signal.set(func() { r.signal.err = errPeer })
	case 4, 5:
		r.signal.set(func() { r.signal.err = nil })
	case 6:
		r.signal.set(func() { r.signal.drained = false }) // it was restarted
	case 7:
		r.heap.Do(func() { r.heap.Rate = float64(rng.IntN(1000)) * mib })
	case 8:
		r.heap.Do(func() { r.heap.Live = uint64(1+rng.IntN(500)) * mib })
	case 9:
		if r.running && rng.IntN(4) == 0 && stops {
			r.Stop()
			r.running = false
		}
	case 10:
		if r.running {
			ticket := r.Enter()
			time.AfterFunc(time.Duration(rng.IntN(3000))*time.Millisecond, ticket.Exit)
		}
	}
}
