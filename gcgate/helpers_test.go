package gcgate

import (
	"context"
	"testing"
	"time"
)

// timeout is a context of the test with an end.
func timeout(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
