package sys

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// noSignal is no flag on Darwin: MSG_NOSIGNAL came with macOS 14 or so. See NoSigpipe.
const noSignal = 0

// NoSigpipe has writes to the socket fd fail with EPIPE and without a signal (SO_NOSIGPIPE).
func NoSigpipe(fd int) { _ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_NOSIGPIPE, 1) }

// sendAgain reports whether to send again. EPROTOTYPE is a race in Darwin's kernel with the
// peer's reset: the next try gets EPIPE (libuv, uv__try_write).
func sendAgain(errno syscall.Errno) bool { return errno == unix.EINTR || errno == unix.EPROTOTYPE }
