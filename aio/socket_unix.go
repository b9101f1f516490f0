//go:build linux || darwin || freebsd || openbsd || netbsd || dragonfly

package aio

import (
	"syscall"

	"evenkeel.dev/aio/internal/sys"
)

// prepare sets options of a listening socket. Its connections inherit those of TCP.
func prepare(network string, reusePort bool, c syscall.RawConn) error {
	var set error
	err := c.Control(func(fd uintptr) {
		if network != "unix" {
			set = sys.SetNoDelay(int(fd))
		}
		if set == nil && reusePort {
			set = sys.SetReusePort(int(fd))
		}
	})
	if err != nil {
		return err
	}
	return set
}
