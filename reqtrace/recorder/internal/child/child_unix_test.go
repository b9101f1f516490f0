//go:build unix

package child

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"evenkeel.dev/internal/leaks"
)

// TestFaults: a child that dies, hangs, or says too much or nothing is an error that says so.
func TestFaults(t *testing.T) {
	leaks.Test(t)
	for script, want := range map[string]string{
		"echo no memory >&2; exit 3": "exit status 3: no memory",
		"kill -9 $$":                 "killed",
		"echo '{'":                   "2 bytes of output are no answer",
		"true":                       "0 bytes",
		"exec yes":                   "more than",
	} {
		_, _, err := Run(t.Context(), []string{"/bin/sh", "-c", script}, Job{}, bytes.NewReader(make([]byte, 1<<20)))
		if !errors.Is(err, ErrDied) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, _, err := Run(ctx, []string{"/bin/sh", "-c", "exec sleep 1000"}, Job{}, cancels(cancel)); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrDied) {
		t.Error(err)
	}
}

// cancels is a trace that ends its child when it is read, which has started by then.
type cancels context.CancelFunc

func (c cancels) Read([]byte) (int, error) {
	c()
	return 0, io.EOF
}
