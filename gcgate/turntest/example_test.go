package turntest_test

import (
	"context"
	"fmt"
	"sync"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/turntest"
)

// mutexTurns are the Turns of gates in one process.
type mutexTurns struct{ mu *sync.Mutex }

func (t mutexTurns) TryAcquire(ctx context.Context) (gcgate.Lease, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !t.mu.TryLock():
		return nil, gcgate.ErrHeld
	}
	return &mutexLease{mu: t.mu}, nil
}

type mutexLease struct {
	mu   *sync.Mutex
	once sync.Once
}

func (l *mutexLease) Lost() <-chan struct{} { return nil }

func (l *mutexLease) Release(context.Context) error {
	l.once.Do(l.mu.Unlock)
	return nil
}

func Example() {
	groups := map[string]*sync.Mutex{}
	err := turntest.Check(context.Background(), 1, func(group string) (gcgate.Turns, error) {
		if groups[group] == nil {
			groups[group] = new(sync.Mutex)
		}
		return mutexTurns{groups[group]}, nil
	})
	fmt.Println(err)
	// Output: <nil>
}
