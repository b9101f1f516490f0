package gcgate

import "context"

// Turns says which replica of a group may collect now, so that the others carry its load.
type Turns interface {
	// TryAcquire takes the turn without waiting for its holder. It returns [ErrHeld] (wrapped or
	// not) if another replica has it, and any other error if the turn cannot be decided. The gate
	// calls it with a deadline, from one goroutine at a time.
	//
	// Unless these are a [Queue], the gate tries again until the hard threshold, where it collects
	// without a turn. It tries every 10 ms while the turn is held. It tries less often, up to every
	// 500 ms, after other errors and while the hard threshold is more than a minute off.
	TryAcquire(ctx context.Context) (Lease, error)
}

// A Queue is [Turns] at which replicas wait in order of arrival. Without it the gate asks again and
// again, and the replica that asks at the right moment wins. Near capacity some replicas then wait
// until their hard threshold while others go twice.
type Queue interface {
	Turns

	// Acquire waits for the turn until ctx ends. The replica that has waited longest gets it. When
	// ctx ends, the replica has given up its place by the time that Acquire returns ctx's error.
	// Other errors mean that the turn cannot be decided, as those of TryAcquire. It never returns
	// [ErrHeld].
	//
	// The gate calls it, without a deadline, for a collection that is due. For one that only makes
	// use of a gap it calls TryAcquire, which returns ErrHeld while another replica waits. Of the
	// two, one call runs at a time.
	Acquire(ctx context.Context) (Lease, error)
}

// A TurnCounter is [Turns] of which several may be held at once.
type TurnCounter interface {
	// TurnCount returns how many; it is at least 1, and does not change.
	TurnCount() int
}

// A HolderNamer is [Turns] that know who holds them. Without it the gate names the holder by the
// error of TryAcquire.
type HolderNamer interface {
	// Holders names the holders, as "host:pid", or returns "" when they are not known. It must not
	// block for long.
	Holders() string
}

// turnCount returns how many turns there are.
func turnCount(t Turns) int {
	if c, ok := t.(TurnCounter); ok {
		return max(c.TurnCount(), 1)
	}
	return 1
}

// A Lease is a turn that is held. Its methods may be called from any goroutine.
type Lease interface {
	// Lost is closed when the turn was lost before Release: another replica may have it now.
	// It may be nil where that cannot happen.
	Lost() <-chan struct{}

	// Release lets another replica take the turn. The gate calls it once, when every peer has this
	// process back, or has been waited for long enough.
	Release(ctx context.Context) error
}
