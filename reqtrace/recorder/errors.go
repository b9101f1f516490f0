package recorder

import (
	"errors"
	"fmt"
)

// Errors of this package. Test for them with errors.Is.
var (
	// ErrRunning is what [Start] returns when this process has a recorder already.
	ErrRunning = errors.New("recorder: this process has a recorder already: stop it first, or share it")

	// ErrFlightRecorder is what [Start] returns when another flight recorder is active: a process has room for one.
	ErrFlightRecorder = errors.New("recorder: this process has another runtime/trace.FlightRecorder: stop it, or share it by Options.Recorder")

	// ErrStopped is what [Recorder.Snapshot] returns from the call of [Recorder.Stop] on.
	ErrStopped = errors.New("recorder: the recorder was stopped")
)

// An OptionError says which field of [Options] cannot be used, and what would be right.
type OptionError struct {
	Option string // the field's name
	Reason string // what is wrong, and what to set instead
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("recorder: Options.%s: %s", e.Option, e.Reason)
}
