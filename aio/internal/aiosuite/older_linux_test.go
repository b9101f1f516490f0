package aiosuite

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/internal/testutil"
)

// TestOlderKernel runs the suite on io_uring where the kernel has no buffers that are used up bit by bit, as
// before Linux 6.12: it says EINVAL to io_uring_register.
func TestOlderKernel(t *testing.T) {
	if os.Getenv("AIO_OLDER") == "" {
		if !testutil.Checking() {
			t.Skip("the whole suite once more: make check runs it")
		}
		c := Child(t, "TestOlderKernel", "AIO_OLDER=yes")
		c.Args = append(c.Args, "-test.v")
		out, err := c.CombinedOutput()
		switch text := string(out); {
		case err != nil:
			t.Errorf("%v\n%s", err, out)
		case !strings.Contains(text, "--- PASS: TestOlderKernel/"):
			t.Skipf("needs io_uring and seccomp filters:\n%s", out)
		}
		return
	}
	if err := refuseAll(t, syscall.EINVAL, "io_uring_register"); err != nil {
		t.Skip("needs", err)
	}
	runSuite(t, Real(aio.BackendIOUring, "tcp"))
}
