//go:build linux || darwin || freebsd || openbsd || netbsd || dragonfly

package httpd

import (
	"syscall"

	"evenkeel.dev/aio"
)

// inherits reports whether a connection has the options that probe set. Connections are accepted in
// the order of their arrival. One that arrived before probe gets the options here.
func inherits(c *aio.Conn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return true
	}
	on := 1
	if err := raw.Control(func(fd uintptr) {
		if v, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_NODELAY); err == nil {
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
