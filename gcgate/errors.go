package gcgate

import (
	"errors"
	"fmt"
)

// Errors of this package. Test for them with errors.Is.
var (
	// ErrHeld is what [Turns.TryAcquire] returns when another replica has the turn.
	ErrHeld = errors.New("gcgate: another replica has the turn")

	// ErrRunning is what [Start] returns when this process has a gate already: the garbage
	// collector is one for the whole process. Stop the other first.
	ErrRunning = errors.New("gcgate: this process has a gate already: stop it first, or share it")

	// ErrStopped is what [Gate.Collect] returns from the call of [Gate.Stop] on.
	ErrStopped = errors.New("gcgate: the gate was stopped")
)

// An OptionError says which field of [Options] cannot be used, and what would be right.
type OptionError struct {
	Option string // the field's name
	Reason string // what is wrong, and what to set instead
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("gcgate: Options.%s: %s", e.Option, e.Reason)
}
