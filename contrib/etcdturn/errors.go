package etcdturn

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrClosed is what [Turns.TryAcquire] returns after [Turns.Close]. Test for it with errors.Is.
var ErrClosed = errors.New("etcdturn: closed: make new Turns with New")

// Why a lease or its key is lost.
var (
	errEnded     = errors.New("the lease ended meanwhile")
	errChanged   = errors.New("the key was deleted or changed")
	errUnwatched = errors.New("the key cannot be watched: the client was closed")
)

// explain says what to do about err, which a request to etcd returned.
func (t *Turns) explain(err error) error {
	select {
	case <-t.closing:
		return ErrClosed
	default:
	}
	code := codeOf(err)
	switch {
	case errors.Is(err, errEnded):
		return fmt.Errorf("etcdturn: group %q: %w: try again", t.options.Group, err)
	case errors.Is(err, context.Canceled), code == codes.Canceled:
		return fmt.Errorf("etcdturn: group %q: given up: %w", t.options.Group, err)
	case errors.Is(err, context.DeadlineExceeded), code == codes.DeadlineExceeded, code == codes.Unavailable:
		return fmt.Errorf("etcdturn: no answer from etcd at %v: check that it runs, has a leader and can be "+
			"reached: %w",
			t.client.Endpoints(), err)
	}
	return fmt.Errorf("etcdturn: etcd at %v refused: check its alarms, and the user's rights below %s: %w",
		t.client.Endpoints(), t.prefix, err)
}

func codeOf(err error) codes.Code {
	if refusal := (rpctypes.EtcdError{}); errors.As(err, &refusal) {
		return refusal.Code()
	}
	return status.Code(err)
}
