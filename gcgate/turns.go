package gcgate

import "context"

// Turns says which replica of a group may collect now, so that the others carry its load.
type Turns interface {
	// TryAcquire takes the turn without waiting for its holder. It returns [ErrHeld] (wrapped or
	// not) if another replica has it. The gate calls it with a deadline, from one goroutine at a
	// time, every 10 to 500 ms.
	TryAcquire(ctx context.Context) (Lease, error)
}

// A Queue is [Turns] for which replicas wait in order of arrival. Without it some replicas wait
// until their hard threshold near capacity, while others go twice.
type Queue interface {
	Turns

	// Acquire waits for the turn until ctx ends, and has given up its place when it returns. It
	// never returns [ErrHeld]. The gate calls TryAcquire for a collection in a gap, which returns
	// ErrHeld while another replica waits. One call runs at a time.
	Acquire(ctx context.Context) (Lease, error)
}

// A TurnCounter is [Turns] of which several may be held at once.
type TurnCounter interface {
	// TurnCount returns how many, at least 1. It does not change.
	TurnCount() int
}

// A HolderNamer is [Turns] that know who holds them. Otherwise the gate logs the error of
// TryAcquire.
type HolderNamer interface {
	// Holders names the holders, as "host:pid", or returns "" if they are not known. It must not
	// block for long.
	Holders() string
}

func turnCount(t Turns) int {
	if c, ok := t.(TurnCounter); ok {
		return max(c.TurnCount(), 1)
	}
	return 1
}

// A Lease is a turn that is held. Its methods may be called from any goroutine.
type Lease interface {
	// Lost is closed if the turn was lost before Release. It may be nil if that cannot happen.
	Lost() <-chan struct{}

	// Release lets another replica take the turn. The gate calls it once.
	Release(ctx context.Context) error
}
