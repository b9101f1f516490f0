package turnsuite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/gcgate"
)

const (
	perTurn = 3  // replicas for each turn
	rounds  = 60 // of each of them
)

// Check tests [gcgate.Turns] of which k may be held at once. replica opens one more replica of a
// group, which the caller closes. No turn may be lost within 30 s.
func Check(t *testing.T, k int, replica func(group string) gcgate.Turns) {
	replicas := func(group string, n int) (list []gcgate.Turns) {
		for range n {
			list = append(list, replica(group))
		}
		return list
	}
	several, one := replicas("several", perTurn*k), replicas("one", k+1)
	t.Run(fmt.Sprint("Ordered", k), func(t *testing.T) { checkOrdered(t, k, one, several[0]) })
	t.Run(fmt.Sprint("Random", k), func(t *testing.T) { checkRandom(t, k, several) })
}

// checkOrdered has k+1 replicas take turns one after the other. other is of another group.
func checkOrdered(t testing.TB, k int, all []gcgate.Turns, other gcgate.Turns) {
	c, counts := all[0].(gcgate.TurnCounter)
	switch {
	case counts && c.TurnCount() != k:
		t.Fatalf("TurnCount is %d, want %d", c.TurnCount(), k)
	case !counts && k > 1:
		t.Fatalf("%d may be held at once: implement gcgate.TurnCounter, as the gate takes them for one", k)
	}
	var held []gcgate.Lease
	for _, turns := range all[:k] {
		held = append(held, Take(t, turns))
	}
	for _, turns := range all {
		WantHeld(t, turns)
	}
	Release(t, Take(t, other))
	WantNotLost(t, held...)
	Release(t, held[0])
	held = append(held, Take(t, all[k]))
	_ = held[0].Release(t.Context()) // whatever it says: the turn is another's now
	WantHeld(t, all[0])
	WantNotLost(t, held...)
	for _, l := range held[1:] {
		Release(t, l)
	}
	WantNotLost(t, held...) // one that was released was not lost
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := all[0].TryAcquire(over); err == nil || errors.Is(err, gcgate.ErrHeld) {
		t.Errorf("TryAcquire with a context that is over: %v, want its error", err)
	}
}

// checkRandom has many replicas take k turns for a while, by both ways if the Turns are a Queue.
func checkRandom(t testing.TB, k int, all []gcgate.Turns) {
	var mu sync.Mutex
	holders, most, taken := 0, 0, 0
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		holders += n
		taken += max(n, 0)
		most = max(most, holders)
	}
	var running sync.WaitGroup
	for i, turns := range all {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		pause := func() { time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond) }
		running.Go(func() {
			for range rounds {
				wait := Patience
				if random.IntN(8) == 0 {
					wait = time.Duration(random.IntN(2000)) * time.Microsecond // may have the turn and lose its answer
				}
				l, err := ask(turns, wait, random.IntN(2) == 0)
				if err == nil {
					count(1)
					pause()
					if isLost(l) {
						t.Error("a turn was lost although nothing took it")
					}
					count(-1)
					bound, cancel := context.WithTimeout(t.Context(), Patience)
					if random.IntN(8) == 0 {
						cancel() // the turn is freed all the same
					}
					_ = l.Release(bound)
					cancel()
				} else if !errors.Is(err, gcgate.ErrHeld) && wait == Patience {
					t.Error(err)
				}
				pause()
			}
		})
	}
	running.Wait()
	if most > k || taken == 0 {
		t.Errorf("%d turns were held at once, and %d may be; %d were taken", most, k, taken)
	}
	for _, turns := range all[:k] { // all have been released or given up
		l := Take(t, turns)
		defer func() { _ = l.Release(t.Context()) }()
	}
}
