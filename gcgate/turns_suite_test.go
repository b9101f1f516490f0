package gcgate_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/internal/turnsuite"
)

// TestFileTurnsSuite runs the suite of all Turns.
func TestFileTurnsSuite(t *testing.T) {
	dir := t.TempDir()
	l, err := gcgate.FileTurns{Path: filepath.Join(dir, "lock")}.TryAcquire(t.Context())
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("needs flock(2)")
	}
	if err == nil {
		err = l.Release(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []int{1, 2} {
		turnsuite.Check(t, k, func(group string) gcgate.Turns {
			return gcgate.FileTurns{Path: filepath.Join(dir, fmt.Sprint(group, k)), K: k}
		})
	}
}
