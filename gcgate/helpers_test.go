package gcgate

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// verifyNoLeak waits until no goroutine is left but those that ignore names: goleak alone waits
// for a second or so.
func verifyNoLeak(t *testing.T, ignore goleak.Option) {
	t.Helper()
	err := goleak.Find(ignore)
	for n := 0; err != nil && n < 30; n++ {
		err = goleak.Find(ignore)
	}
	if err != nil {
		t.Error(err)
	}
}

// timeout is a context of the test with an end.
func timeout(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
