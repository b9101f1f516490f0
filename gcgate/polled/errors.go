package polled

import (
	"errors"

	"evenkeel.dev/gcgate"
)

// ErrNobody is in the errors of [Peers] if nothing polls. The adapter knows how to make the peer do
// so, and says that to its user.
var ErrNobody = errors.New("nobody polls")

// notBack is the error of a Ready that waits for a peer that polls. It is [gcgate.ErrNotBack]. A
// peer that has not polled for seconds counts as one that polls until it expires, because it may
// poll slowly while this process is out (downinter in HAProxy).
type notBack struct{ error }

func (e notBack) Unwrap() error { return e.error }

func (e notBack) Is(target error) bool { return target == gcgate.ErrNotBack }
