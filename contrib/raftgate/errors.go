package raftgate

import "errors"

// Errors of this package. Test for them with errors.Is.
var (
	// ErrGone is what [Options].Ask returns if the member's process does not run, such as after a
	// refused connection. The member then has no say.
	ErrGone = errors.New("raftgate: the member's process does not run")

	// ErrNoSuccessor is what [Member.Drain] returns if no other member takes the leadership.
	ErrNoSuccessor = errors.New("raftgate: no member takes the leadership over: this one collects while it leads")
)
