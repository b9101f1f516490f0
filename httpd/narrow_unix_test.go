//go:build unix

package httpd_test

import (
	"net"
	"syscall"
	"testing"

	"evenkeel.dev/internal/testutil"
)

// narrow listens where the kernel takes little of an answer that nobody reads.
func narrow(t *testing.T) net.Listener {
	t.Helper()
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		if e := c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF,
				4<<10)
		}); e != nil {
			return e
		}
		return err
	}}
	ln, err := config.Listen(t.Context(), "tcp", testutil.Loopback()+":0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}
