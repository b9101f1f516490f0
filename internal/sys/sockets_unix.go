//go:build linux || darwin || freebsd || openbsd || netbsd || dragonfly

package sys

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// unnamed is the address of a unix socket that was bound to no name, as most peers are.
var unnamed net.Addr = &net.UnixAddr{Net: "unix"}

// IsByteStream reports whether fd is a socket of a stream of bytes, and not of datagrams or packets.
func IsByteStream(fd int) bool {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	return err == nil && kind == unix.SOCK_STREAM
}

// Listen is listen(2) again on a socket that listens: with another backlog.
func Listen(fd, backlog int) error { return unix.Listen(fd, backlog) }

// SetNoDelay sets TCP_NODELAY (tcp(7)).
func SetNoDelay(fd int, on bool) error {
	return setInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, bit(on))
}

// SetReusePort has sockets share an address, of which the kernel draws one for each connection.
func SetReusePort(fd int) error { return setInt(fd, unix.SOL_SOCKET, reusePort, 1) }

// SetReadBuffer sets the size of the receive buffer in bytes (socket(7), SO_RCVBUF).
func SetReadBuffer(fd, n int) error { return setInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, n) }

// SetWriteBuffer sets the size of the send buffer in bytes (socket(7), SO_SNDBUF).
func SetWriteBuffer(fd, n int) error { return setInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, n) }

// setInt is setsockopt(2).
func setInt(fd, level, option, value int) error {
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, level, option, value))
}

func bit(on bool) int {
	if on {
		return 1
	}
	return 0
}
