package raftgate

import "errors"

// Errors of this package. Test for them with errors.Is.
var (
	// ErrGone is what [Options].Ask returns when the process of that member does not run for sure,
	// as after a connection that was refused: it is neither asked nor waited for.
	ErrGone = errors.New("raftgate: the member's process does not run")

	// ErrNoSuccessor is what [Member.Drain] returns when this member leads and no other took over.
	ErrNoSuccessor = errors.New("raftgate: no member takes the leadership over: this one collects while it leads")
)
