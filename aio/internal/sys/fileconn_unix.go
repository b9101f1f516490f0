//go:build linux || darwin || freebsd || openbsd || netbsd || dragonfly

package sys

import (
	"errors"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// FileConn returns a *net.TCPConn or a *net.UnixConn over a duplicate of fd, which stays open, with the
// socket's options as they are. When it fails nothing has changed, and an Errno is bare.
func FileConn(fd int) (net.Conn, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(own), "")
	restore := tcpOptions(fd)
	conn, err := net.FileConn(f) // of one more duplicate
	_ = f.Close()
	restore()
	if err == nil {
		return conn, nil
	}
	_ = unix.SetNonblock(fd, true) // os.File.Fd had the socket block, for all its descriptors
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return nil, errno
	}
	return nil, err
}

// tcpOptions returns what sets fd's options back that net.FileConn sets (newTCPConn in net/tcpsock.go).
func tcpOptions(fd int) (restore func()) {
	options := [][2]int{{unix.SOL_SOCKET, unix.SO_KEEPALIVE}, {unix.IPPROTO_TCP, unix.TCP_NODELAY}}
	for _, o := range keepAliveOptions {
		options = append(options, [2]int{unix.IPPROTO_TCP, o})
	}
	values := make([]int, len(options))
	for i, o := range options {
		var err error
		if values[i], err = unix.GetsockoptInt(fd, o[0], o[1]); err != nil {
			values[i] = -1 // a unix socket's
		}
	}
	return func() {
		for i, o := range options {
			if values[i] >= 0 {
				_ = unix.SetsockoptInt(fd, o[0], o[1], values[i])
			}
		}
	}
}
