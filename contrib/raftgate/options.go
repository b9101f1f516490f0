package raftgate

import (
	"context"
	"log/slog"
	"time"

	"evenkeel.dev"
)

// maxTransferTimeout is the limit of Options.TransferTimeout.
const maxTransferTimeout = 10 * time.Second

// Options configure a [Member]. Raft and Ask have to be set.
type Options struct {
	// Raft is the group. Default: none, it has to be set.
	Raft Raft

	// Ask puts a question to another member, whose [Member.Answer] knows the answer, and returns
	// it. It must return when ctx ends, and [ErrGone] (wrapped or not) where it knows that the
	// member's process does not run. [AskHTTP] does it over HTTP. It is called from several
	// goroutines at once. Default: none, it has to be set.
	Ask func(ctx context.Context, member string, question []byte) (answer []byte, err error)

	// TransferTimeout bounds one transfer of the leadership, in which the group takes no writes.
	// Past it the transfer is given up, and another successor is tried. It should be ten times what
	// a transfer takes, which is about three messages and a write to the log. A member that takes
	// more than a tenth of it to answer, since it or the network is slow, has ten times as long as
	// its answer took, up to ten times this; one that takes twice this is not tried. Default: 0,
	// which is 15 ms; between sites it has to be longer. Limit: 10 s.
	TransferTimeout time.Duration

	// Logger gets Warn for members that cannot be asked and Debug for the rest. Default: nil, which
	// is the gate's logger.
	Logger *slog.Logger
}

// withDefaults returns o with its zero fields filled in, or an [*evenkeel.OptionError].
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
	if o.TransferTimeout == 0 {
		o.TransferTimeout = 15 * time.Millisecond
	}
	return o, nil
}
