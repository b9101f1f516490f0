package syscount

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

func TestCount(t *testing.T) {
	c, err := Open(os.Getpid())
	if errors.Is(err, ErrNotRoot) {
		t.Skip(err)
	}
	if err != nil {
		t.Skip("needs a kernel with raw_syscalls tracepoints: ", err)
	}
	const calls = 10_000
	for range 2 { // a second count starts at nothing
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		for range calls {
			syscall.Getppid()
		}
		n, err := c.Stop()
		if err != nil {
			t.Fatal(err)
		}
		if n < calls || n > calls+2000 {
			t.Errorf("%d calls counted, want %d and a few of the runtime's", n, calls)
		}
	}
}
