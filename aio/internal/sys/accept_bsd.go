//go:build darwin || freebsd || openbsd || netbsd || dragonfly

package sys

import (
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"evenkeel.dev/aio/internal/proactor"
)

// unnamed is the address of a unix socket without a name.
var unnamed net.Addr = &net.UnixAddr{Net: "unix"}

// Accept is accept(2). The connection is non-blocking and close-on-exec. See accept_linux.go for
// the listener's mode.
func (Sockets) Accept(fd int) (conn int, remote proactor.Addr, err error) {
	if mode, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err == nil && mode&unix.O_NONBLOCK == 0 {
		_ = unix.SetNonblock(fd, true)
	}
	for {
		syscall.ForkLock.RLock() // Darwin has no accept4(2)
		conn, peer, err := unix.Accept(fd)
		if err == nil {
			unix.CloseOnExec(conn)
		}
		syscall.ForkLock.RUnlock()
		if err == nil {
			err = unix.SetNonblock(conn, true)
			if err == nil {
				noSigpipe(conn)
				return conn, address(peer), nil
			}
			Close(conn)
		}
		if err != unix.EINTR {
			return -1, remote, err
		}
	}
}

// Local is getsockname(2). It returns the zero value if that fails.
func (Sockets) Local(fd int) proactor.Addr {
	a, _ := unix.Getsockname(fd)
	return address(a)
}

func address(a unix.Sockaddr) proactor.Addr {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return proactor.Addr{IP: netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))}
	case *unix.SockaddrInet6:
		return proactor.Addr{IP: netip.AddrPortFrom(withZone(netip.AddrFrom16(a.Addr), a.ZoneId), uint16(a.Port))}
	case *unix.SockaddrUnix:
		if a.Name == "" {
			return proactor.Addr{Other: unnamed}
		}
		return proactor.Addr{Other: &net.UnixAddr{Net: "unix", Name: a.Name}}
	}
	return proactor.Addr{}
}

// streamSocket is socket(2), non-blocking and close-on-exec.
func streamSocket(domain int) (int, error) {
	syscall.ForkLock.RLock() // Darwin has no SOCK_CLOEXEC
	fd, err := unix.Socket(domain, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return -1, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		Close(fd)
		return -1, err
	}
	noSigpipe(fd)
	return fd, nil
}
