package recorder

import "errors"

// Errors of this package. Test for them with errors.Is.
var (
	// ErrRunning is what [Start] returns if this process has a recorder already.
	ErrRunning = errors.New("recorder: this process has a recorder already: stop it first, or share it")

	// ErrFlightRecorder is what [Start] returns if another flight recorder is active.
	ErrFlightRecorder = errors.New("recorder: this process has another runtime/trace.FlightRecorder: stop it, or share it by Options.Recorder")

	// ErrStopped is what [Recorder.Snapshot] returns after [Recorder.Stop].
	ErrStopped = errors.New("recorder: the recorder was stopped")
)
