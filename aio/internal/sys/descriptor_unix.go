//go:build linux || darwin || freebsd || openbsd || netbsd || dragonfly

package sys

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Dup duplicates the descriptor of source: -1 and no error when it has none. The duplicate is not
// inherited by other programs. It shares the socket's options and its non-blocking mode
// (fcntl(2), F_DUPFD_CLOEXEC).
func Dup(source any) (fd int, err error) {
	sc, ok := source.(syscall.Conn)
	if !ok {
		return -1, nil
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return -1, err
	}
	var dup error
	if err := rc.Control(func(old uintptr) {
		fd, dup = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 3)
	}); err != nil {
		return -1, err
	}
	if dup != nil {
		return -1, dup
	}
	return fd, nil
}

// IsStream reports whether fd is a stream of bytes over IP, of which a short read tells that it is
// drained. A Unix socket's may also stop where descriptors were sent.
func IsStream(fd int) bool {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_STREAM {
		return false
	}
	addr, err := unix.Getsockname(fd)
	switch addr.(type) {
	case *unix.SockaddrInet4, *unix.SockaddrInet6:
		return err == nil
	}
	return false
}

// Close closes fd. It is closed even where the call was interrupted (close(2)).
func Close(fd int) { _ = unix.Close(fd) }

// ShutWrite is shutdown(2) of the sending side of a socket, which does not wait: the peer finds the end
// behind what was sent.
func ShutWrite(fd int) syscall.Errno {
	errno, _ := unix.Shutdown(fd, unix.SHUT_WR).(syscall.Errno)
	return errno
}

// Unlinger has a close of fd not wait. With a linger time (socket(7), SO_LINGER) the last close
// of a socket, and be it the kernel's own, blocks until the peer has all, in spite of
// non-blocking mode. Without it the kernel goes on sending in the background. A time of 0, which
// resets the connection, stays.
func Unlinger(fd int) {
	if l, err := unix.GetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER); err == nil && l.Onoff != 0 &&
		l.Linger > 0 {
		_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{})
	}
}
