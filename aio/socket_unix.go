//go:build linux || darwin || freebsd || openbsd || netbsd || dragonfly

package aio

import (
	"net"
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

func setBacklog(ln net.Listener, n int) error {
	c, err := ln.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	var set error
	if err := c.Control(func(fd uintptr) { set = sys.Listen(int(fd), n) }); err != nil {
		return err
	}
	return set
}

func setKeepAlive(fd int, config net.KeepAliveConfig) error { return sys.SetKeepAlive(fd, config) }
