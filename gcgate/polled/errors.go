package polled

import (
	"errors"

	"evenkeel.dev/gcgate"
)

// ErrNobody is in the errors of [Peers] when nobody polls: the user has to be told how to make
// the peer do so, which its adapter knows.
var ErrNobody = errors.New("nobody polls")

// notBack is the error of a Ready that waits for a peer that polls. It is [gcgate.ErrNotBack]. A
// peer that has polled nothing for seconds counts as one that polls until it is gone: it may poll
// slowly while this process is out (downinter in HAProxy).
type notBack struct{ error }

func (e notBack) Unwrap() error { return e.error }

func (e notBack) Is(target error) bool { return target == gcgate.ErrNotBack }
