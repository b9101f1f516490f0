package turnsuite

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"evenkeel.dev/gcgate"
)

type broken struct {
	mu     *sync.Mutex
	held   *int
	most   int  // turns
	count  int  // TurnCount
	deaf   bool // ignores contexts
	loses  bool // each turn is lost at once
	fails  bool // Release fails
	forget bool // a second Release frees again
}

func (b broken) TurnCount() int { return b.count }

func (b broken) TryAcquire(ctx context.Context) (gcgate.Lease, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case ctx.Err() != nil && !b.deaf:
		return nil, ctx.Err()
	case *b.held >= b.most:
		return nil, gcgate.ErrHeld
	}
	*b.held++
	return &brokenLease{broken: b}, nil
}

type brokenLease struct {
	broken
	released bool
}

func (l *brokenLease) Lost() <-chan struct{} {
	lost := make(chan struct{})
	if l.loses {
		close(lost)
	}
	return lost
}

func (l *brokenLease) Release(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.released || l.forget {
		*l.held--
	}
	l.released = true
	if l.fails {
		return errors.New("no")
	}
	return nil
}

// TestCheck tests that each defect is found.
func TestCheck(t *testing.T) {
	for want, b := range map[string]broken{
		"":                                  {most: 2, count: 2},
		"TurnCount is 1, want 2":            {most: 2, count: 1},
		"3 turns were held at once":         {most: 3, count: 2},
		"while all turns are held":          {most: 3, count: 2},
		"with a context that is over":       {most: 2, count: 2, deaf: true},
		"was lost although nothing took it": {most: 2, count: 2, loses: true},
		"a turn is not released: no":        {most: 2, count: 2, fails: true},
		"after a second Release":            {most: 2, count: 2, forget: true},
	} {
		groups := map[string]broken{}
		err := Check(t.Context(), 2, func(group string) (gcgate.Turns, error) {
			g, ok := groups[group]
			if !ok {
				g = b
				g.mu, g.held = new(sync.Mutex), new(int)
				groups[group] = g
			}
			return g, nil
		})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
