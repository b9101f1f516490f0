//go:build linux

package main

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// TestCounters counts the system calls of this process. Go may start a thread in between, so it is
// tried again.
func TestCounters(t *testing.T) {
	const calls, tries = 10_000, 20
	var n uint64
	for range tries {
		c, err := openCounters(os.Getpid())
		if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) {
			t.Skip("needs root and tracefs: ", err)
		}
		if err != nil {
			t.Log(err)
			continue
		}
		for range calls {
			syscall.Getppid()
		}
		if n, err = c.close(); err != nil {
			t.Fatal(err)
		}
		if n >= calls && n <= calls+2000 {
			return
		}
	}
	t.Errorf("%d calls counted, want %d and a few of the runtime's", n, calls)
}
