//go:build linux || darwin || freebsd || openbsd || netbsd || dragonfly

package sys

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"evenkeel.dev/aio/internal/proactor"
)

// Dup duplicates the descriptor of source, or returns -1 if it has none. The duplicate is
// close-on-exec and shares the socket's options and mode (fcntl(2)).
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

// Sockets are the calls on sockets that epoll and kqueue share.
type Sockets struct{}

// Dup duplicates the descriptor of a stream socket. overIP says that a short read has drained it.
func (Sockets) Dup(source any) (fd int, overIP bool, err error) {
	if fd, err = Dup(source); err != nil {
		return -1, false, err
	}
	if fd < 0 {
		return -1, false, proactor.ErrNoDescriptor
	}
	stream, overIP := streams(fd)
	if !stream {
		Close(fd)
		return -1, false, proactor.ErrDatagram
	}
	return fd, overIP, nil
}

// streams reports whether fd is a stream, and not of datagrams or packets. overIP says that a short
// read has drained it. A read of a unix socket may also stop where descriptors were sent. If a
// seccomp filter refuses the question, stream is true.
func streams(fd int) (stream, overIP bool) {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_STREAM {
		return err == unix.EPERM || err == unix.ENOSYS, false
	}
	addr, _ := unix.Getsockname(fd)
	switch addr.(type) {
	case *unix.SockaddrInet4, *unix.SockaddrInet6:
		return true, true
	}
	return true, false
}

// Close closes fd, even if the call is interrupted (close(2)).
func Close(fd int) { _ = unix.Close(fd) }

func (Sockets) CloseFd(fd int) { Close(fd) }

// ShutWrite is shutdown(2) of the sending side, which does not wait.
func (Sockets) ShutWrite(fd int) error { return unix.Shutdown(fd, unix.SHUT_WR) }

// Unlinger removes a linger time above 0, with which the last close waits until the peer has all,
// in spite of non-blocking mode (socket(7)). The kernel goes on sending in the background. A time
// of 0, which resets the connection, stays.
func (Sockets) Unlinger(fd int) {
	if l, err := unix.GetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER); err == nil && l.Onoff != 0 &&
		l.Linger > 0 {
		_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{})
	}
}

// FileConn returns a *net.TCPConn or a *net.UnixConn over a duplicate of fd. On an error nothing has
// changed.
func (Sockets) FileConn(fd int) (net.Conn, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(own), "")
	conn, err := net.FileConn(f) // of one more duplicate
	_ = f.Close()
	if err == nil {
		return conn, nil
	}
	_ = unix.SetNonblock(fd, true) // os.File.Fd made the socket block
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return nil, errno
	}
	return nil, err
}

// withZone returns addr in the zone of an interface, by its name, or else by its index.
func withZone(addr netip.Addr, index uint32) netip.Addr {
	if index == 0 {
		return addr
	}
	if i, err := net.InterfaceByIndex(int(index)); err == nil {
		return addr.WithZone(i.Name)
	}
	return addr.WithZone(strconv.FormatUint(uint64(index), 10))
}
