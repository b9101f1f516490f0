package machine

import (
	"context"
	"errors"
	"os"
	"testing"
)

func TestTouch(t *testing.T) {
	const n = 64 << 20
	if per, err := Touch(t.Context(), n); per <= 0 || err != nil {
		t.Errorf("%v a page, %v", per, err)
	}
	if peak, err := PeakRSS(os.Getpid()); peak < n || err != nil {
		t.Errorf("peak of %d bytes, %v: not all pages were written to", peak, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Touch(ctx, n); !errors.Is(err, context.Canceled) {
		t.Errorf("after an interrupt: %v", err)
	}
}
