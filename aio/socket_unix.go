//go:build linux || darwin || freebsd || openbsd || netbsd || dragonfly

package aio

import (
	"net"
	"syscall"

	"evenkeel.dev/aio/internal/sys"
)

// noDelay sets an option of a listening socket, which its connections inherit.
func noDelay(network, _ string, c syscall.RawConn) error {
	switch network {
	case "tcp4", "tcp6":
	case "unix":
		return nil
	default: // unixgram, unixpacket
		return net.UnknownNetworkError(network)
	}
	var set error
	if err := c.Control(func(fd uintptr) { set = sys.SetNoDelay(int(fd)) }); err != nil {
		return err
	}
	return set
}
