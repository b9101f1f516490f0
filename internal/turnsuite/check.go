package turnsuite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"evenkeel.dev/gcgate"
)

const (
	perTurn = 3  // replicas for each turn
	rounds  = 60 // of each of them
)

// Check tries [gcgate.Turns] of which k may be held at once, and returns all that is wrong with
// them. replica opens one more replica of a group, which the caller closes. No turn may be lost
// within 30 s.
func Check(ctx context.Context, k int, replica func(group string) (gcgate.Turns, error)) error {
	replicas := func(group string, n int) ([]gcgate.Turns, error) {
		list := make([]gcgate.Turns, n)
		for i := range list {
			var err error
			if list[i], err = replica(group); err != nil {
				return nil, fmt.Errorf("turnsuite: a replica of group %q: %w", group, err)
			}
		}
		return list, nil
	}
	several, err := replicas("several", perTurn*k)
	if err != nil {
		return err
	}
	one, err := replicas("one", k+1)
	if err != nil {
		return err
	}
	if failed := checkOrdered(ctx, k, one, several[0]); failed != nil {
		err = fmt.Errorf("turnsuite: one after the other: %w", failed)
	}
	if failed := checkRandom(ctx, k, several); failed != nil {
		err = errors.Join(err, fmt.Errorf("turnsuite: at random: %w", failed))
	}
	return err
}

// checkOrdered has k+1 replicas take turns one after the other. other is of another group.
func checkOrdered(ctx context.Context, k int, all []gcgate.Turns, other gcgate.Turns) error {
	c, counts := all[0].(gcgate.TurnCounter)
	switch {
	case counts && c.TurnCount() != k:
		return fmt.Errorf("TurnCount is %d, want %d", c.TurnCount(), k)
	case !counts && k > 1:
		return fmt.Errorf("%d may be held at once: implement gcgate.TurnCounter, as the gate takes them for one", k)
	}
	held := make([]gcgate.Lease, k)
	for i := range held {
		var err error
		if held[i], err = take(ctx, all[i], Patience); err != nil {
			return fmt.Errorf("turn %d of %d: %w", i+1, k, err)
		}
	}
	for i, t := range all {
		if err := wantHeld(ctx, t); err != nil {
			return fmt.Errorf("replica %d, while all turns are held: %w", i+1, err)
		}
	}
	l, err := take(ctx, other, Patience)
	if err != nil {
		return fmt.Errorf("in another group: %w", err)
	}
	if err := errors.Join(release(ctx, l), kept(held...), release(ctx, held[0])); err != nil {
		return err
	}
	next, err := take(ctx, all[k], Patience)
	if err != nil {
		return fmt.Errorf("a turn that was released: %w", err)
	}
	_ = held[0].Release(ctx) // whatever it says: the turn is another's now
	if err := wantHeld(ctx, all[0]); err != nil {
		return fmt.Errorf("after a second Release of a turn that another has: %w", err)
	}
	err = kept(append(held, next)...)
	for _, l := range append(held[1:], next) {
		err = errors.Join(err, release(ctx, l))
	}
	err = errors.Join(err, kept(append(held, next)...)) // one that was released was not lost
	over, cancel := context.WithCancel(ctx)
	cancel()
	if _, failed := all[0].TryAcquire(over); failed == nil || errors.Is(failed, gcgate.ErrHeld) {
		err = errors.Join(err, fmt.Errorf("TryAcquire with a context that is over: %v, want its error", failed))
	}
	return err
}

// checkRandom has many replicas take k turns for a while, by both ways if the Turns are a Queue.
func checkRandom(ctx context.Context, k int, all []gcgate.Turns) error {
	var mu sync.Mutex
	var failed []error
	holders, most, taken := 0, 0, 0
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		holders += n
		taken += max(n, 0)
		most = max(most, holders)
	}
	var running sync.WaitGroup
	for i, t := range all {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		pause := func() { time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond) }
		running.Go(func() {
			for range rounds {
				wait := Patience
				if random.IntN(8) == 0 {
					wait = time.Duration(random.IntN(2000)) * time.Microsecond // may have the turn and lose its answer
				}
				l, err := ask(ctx, t, wait, random.IntN(2) == 0)
				if err == nil {
					count(1)
					pause()
					err = kept(l)
					count(-1)
					bound, cancel := context.WithTimeout(ctx, Patience)
					if random.IntN(8) == 0 {
						cancel() // the turn is freed all the same
					}
					_ = l.Release(bound)
					cancel()
				} else if errors.Is(err, gcgate.ErrHeld) || wait < Patience {
					err = nil
				}
				if err != nil {
					mu.Lock()
					failed = append(failed, err)
					mu.Unlock()
				}
				pause()
			}
		})
	}
	running.Wait()
	if most > k {
		failed = append(failed, fmt.Errorf("%d turns were held at once, and %d may be", most, k))
	}
	if taken == 0 {
		failed = append(failed, errors.New("no turn was taken"))
	}
	if len(failed) > 0 {
		return errors.Join(failed[:min(len(failed), 5)]...)
	}
	for i, t := range all[:k] {
		l, err := take(ctx, t, Patience)
		if err != nil {
			return fmt.Errorf("turn %d of %d, when all had been released or given up: %w", i+1, k, err)
		}
		defer func() { _ = l.Release(ctx) }()
	}
	return nil
}

// ask tries for a turn, or waits for it in the queue.
func ask(ctx context.Context, t gcgate.Turns, wait time.Duration, queue bool) (gcgate.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if q, ok := t.(gcgate.Queue); ok && queue {
		l, err := q.Acquire(ctx)
		if errors.Is(err, gcgate.ErrHeld) {
			err = fmt.Errorf("error %v of Acquire, which only TryAcquire may return", err)
		}
		return l, err
	}
	return t.TryAcquire(ctx)
}

func kept(turns ...gcgate.Lease) error {
	for _, l := range turns {
		select {
		case <-l.Lost(): // never, where it is nil
			return errors.New("a turn was lost although nothing took it")
		default:
		}
	}
	return nil
}
