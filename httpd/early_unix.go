//go:build linux || darwin || freebsd || openbsd || netbsd || dragonfly

package httpd

import (
	"syscall"

	"evenkeel.dev/aio"
)

// inherits reports whether a connection has what probe has set of its listener. One that came before that has not: it
// gets it, and may not be the last one, as they are accepted in the order in which they came.
func inherits(c *aio.Conn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return true
	}
	on := 1
	if err := raw.Control(func(fd uintptr) {
		if v, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_NODELAY); err == nil {
			// else a unix socket's
			on = v
		}
	}); err != nil || on != 0 {
		return true
	}
	if f, err := c.File(); err == nil {
		enable(f)
	}
	return false
}
