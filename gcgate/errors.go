package gcgate

import "errors"

// Errors of this package. Test for them with errors.Is.
var (
	// ErrHeld is what [Turns.TryAcquire] returns if another replica has the turn.
	ErrHeld = errors.New("gcgate: another replica has the turn")

	// ErrRunning is what [Start] returns if this process has a gate already.
	ErrRunning = errors.New("gcgate: this process has a gate already: stop it first, or share it")

	// ErrUnreached is in the error of [Signal.Drain] if its peer cannot have acted on this call.
	// The gate holds no turn for such a peer.
	ErrUnreached = errors.New("gcgate: the peer was not reached")

	// ErrNotBack is in the error of [Signal.Ready] if its peer answers, but does not have this
	// process back yet. The gate holds the turn for such a peer for up to five minutes.
	ErrNotBack = errors.New("gcgate: the peer does not have this process back yet")

	// ErrStopped is what [Gate.Collect] returns from the call of [Gate.Stop] on.
	ErrStopped = errors.New("gcgate: the gate was stopped")
)
