package gcgate

import "errors"

// Errors of this package. Test for them with errors.Is.
var (
	// ErrHeld is what [Turns.TryAcquire] returns when another replica has the turn.
	ErrHeld = errors.New("gcgate: another replica has the turn")

	// ErrRunning is what [Start] returns when this process has a gate already: the garbage
	// collector is one for the whole process. Stop the other first.
	ErrRunning = errors.New("gcgate: this process has a gate already: stop it first, or share it")

	// ErrUnreached is in the error of [Signal.Drain] when its peer cannot have acted on this call:
	// nothing was sent, or the peer refused. The gate holds no turn for a peer that no Drain can
	// have reached.
	ErrUnreached = errors.New("gcgate: the peer was not reached")

	// ErrNotBack is in the error of [Signal.Ready] when its peer answers, but does not have this
	// process back yet. The gate holds the turn for such a peer for up to five minutes, and for one
	// that does not answer for seconds.
	ErrNotBack = errors.New("gcgate: the peer does not have this process back yet")

	// ErrStopped is what [Gate.Collect] returns from the call of [Gate.Stop] on.
	ErrStopped = errors.New("gcgate: the gate was stopped")
)
