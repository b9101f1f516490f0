//go:build !linux

package aiosuite

import (
	"net"
	"testing"
)

// arrival returns a function that waits until n bytes can be read from a socket. Call it before c
// is attached. A connection in memory has all data when the peer's Write returns.
func arrival(t testing.TB, c net.Conn) (wait func(n int)) {
	t.Helper()
	if _, fake := c.(*Conn); !fake {
		t.Skip("needs Linux, which says how much of a message has come")
	}
	return func(int) {}
}
