package aiosuite

import (
	"net"
	"testing"

	"evenkeel.dev/aio/internal/sys"
)

// arrival returns a function that waits until n bytes can be read from a socket. Call it before c
// is attached. A connection in memory has all data when the peer's Write returns.
func arrival(t testing.TB, c net.Conn) (wait func(n int)) {
	t.Helper()
	if _, fake := c.(*Conn); fake {
		return func(int) {}
	}
	fd, err := sys.Dup(c)
	Must(t, err)
	t.Cleanup(func() { sys.Close(fd) })
	return func(n int) {
		t.Helper()
		Eventually(t, "all has come", func() bool { return sys.Unread(fd) == n })
	}
}
