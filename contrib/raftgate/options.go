package raftgate

import (
	"cmp"
	"context"
	"errors"
	"time"

	"evenkeel.dev"
)

const maxTransferTimeout = 10 * time.Second

// Options configure a [Member]. Raft and Ask have to be set.
type Options struct {
	// Raft is the group.
	Raft Raft

	// Ask sends a question to another member and returns what its [Member.Answer] returns.
	// [AskHTTP] does so over HTTP. It returns when ctx ends. If the member's process does not run,
	// the error wraps [ErrGone]. Several goroutines call it at once.
	Ask func(ctx context.Context, member string, question []byte) (answer []byte, err error)

	// TransferTimeout bounds a transfer of the leadership, in which the group takes no writes. Set
	// ten times what one takes, about three messages and a write to the log. A slow member gets ten
	// times as long as its last answer took, up to ten times this. Default: 0, which is 15 ms.
	// Limit: 10 s.
	TransferTimeout time.Duration
}

func (o Options) withDefaults() (Options, error) {
	refuse := func(option, format string, args ...any) (Options, error) {
		return o, evenkeel.NewOptionError("raftgate.Options", option, format, args...)
	}
	switch {
	case o.Raft == nil:
		return refuse("Raft", "it is not set: use etcdraft.New, hashiraft.New or a Raft of your own")
	case o.Ask == nil:
		return refuse("Ask", "it is not set: use AskHTTP, or a way of your own to the members")
	case o.TransferTimeout < 0 || o.TransferTimeout > maxTransferTimeout:
		return refuse("TransferTimeout", "%v is out of range: use up to %v, 0 for 15ms", o.TransferTimeout,
			maxTransferTimeout)
	}
	o.TransferTimeout = cmp.Or(o.TransferTimeout, 15*time.Millisecond)
	return o, nil
}

var (
	// ErrGone is what [Options].Ask returns if the member's process does not run.
	ErrGone = errors.New("raftgate: the member's process does not run")

	// ErrNoSuccessor is what [Member.Drain] returns if no member takes the leadership.
	ErrNoSuccessor = errors.New("raftgate: no member takes the leadership over: this one collects while it leads")
)
