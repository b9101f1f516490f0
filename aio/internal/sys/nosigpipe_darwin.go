package sys

import "golang.org/x/sys/unix"

// Older Darwin has no MSG_NOSIGNAL.
const noSignal = 0

// noSigpipe makes writes to fd fail with EPIPE and without a signal.
func noSigpipe(fd int) { _ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_NOSIGPIPE, 1) }

// EPROTOTYPE is a race in Darwin's kernel with the peer's reset (libuv, uv__try_write).
func sendAgain(err error) bool { return err == unix.EINTR || err == unix.EPROTOTYPE }
