package k8sturn

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// ErrClosed is what [Turns.TryAcquire] returns after [Turns.Close]. Test for it with errors.Is.
var ErrClosed = errors.New("k8sturn: closed: make new Turns with New")

// errUnwatched is for a watch that ended at once.
var errUnwatched = errors.New("the watch of Leases ended at once: a proxy on the way must pass on answers that " +
	"have no end")

// Why a turn is lost.
var (
	errChanged = errors.New("the Lease was deleted, or has another holder")
	errExpired = errors.New("the Lease could not be renewed in time")
)

// isCode reports whether err is an answer of the API server with this code.
func isCode(err error, code int) bool {
	var refusal *statusError
	return errors.As(err, &refusal) && refusal.Code == code
}

// inDoubt reports whether the request may have been carried out that returned err.
func inDoubt(err error) bool {
	var refusal *statusError
	return !errors.As(err, &refusal) || refusal.Code >= http.StatusInternalServerError
}

// explain says what to do about err, which a request returned.
func (t *Turns) explain(err error) error {
	select {
	case <-t.closing:
		return ErrClosed
	default:
	}
	var refusal *statusError
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("k8sturn: group %q: given up: %w", t.options.Group, err)
	case errors.Is(err, errUnwatched):
		return fmt.Errorf("k8sturn: the API server at %s: %w", t.options.URL, err)
	case !errors.As(err, &refusal):
		return fmt.Errorf("k8sturn: no answer from the API server at %s: check that it runs and can be reached: %w",
			t.options.URL, err)
	case refusal.Code == http.StatusUnauthorized, refusal.Code == http.StatusForbidden:
		return fmt.Errorf("k8sturn: the service account may not use Leases in namespace %q: give it get, list, "+
			"watch, create and patch of leases in coordination.k8s.io (deploy/kubernetes has the Role): %w",
			t.options.Namespace, err)
	}
	return fmt.Errorf("k8sturn: the API server at %s refused: %w", t.options.URL, err)
}
