package gcgate

import "context"

// Turns says which replica of a group may collect now, so that the others carry its load.
type Turns interface {
	// TryAcquire takes the turn without waiting for its holder: it returns [ErrHeld] (wrapped
	// or not) when another replica has it, and any other error when the turn cannot be
	// decided. The gate tries again until the hard threshold, where it collects without a
	// turn: every 10 ms while the turn is held, and more seldom, up to every 500 ms, after
	// other errors and while the hard threshold is a minute or more away. It is called with a
	// deadline, from one goroutine at a time.
	TryAcquire(ctx context.Context) (Lease, error)
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
