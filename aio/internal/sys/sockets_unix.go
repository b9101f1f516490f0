//go:build linux || darwin || freebsd || openbsd || netbsd || dragonfly

package sys

import (
	"cmp"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// IsByteStream reports whether fd is a socket of a stream of bytes, and not of datagrams or packets. It is
// taken for one where a seccomp filter refuses the question.
func IsByteStream(fd int) bool {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	return err == nil && kind == unix.SOCK_STREAM || err == unix.EPERM || err == unix.ENOSYS
}

// Listen is listen(2) again on a socket that listens: with another backlog.
func Listen(fd, backlog int) error { return unix.Listen(fd, backlog) }

// SetNoDelay sets TCP_NODELAY (tcp(7)).
func SetNoDelay(fd int) error { return setInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) }

// SetKeepAlive sets SO_KEEPALIVE, and with it idle time, interval and count as
// net.TCPConn.SetKeepAliveConfig does, where a socket has its own: zero is package net's default,
// and what is negative stays as it is.
func SetKeepAlive(fd int, k net.KeepAliveConfig) error {
	if !k.Enable {
		return setInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 0)
	}
	if err := setInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1); err != nil {
		return err
	}
	const probes, seconds = 9, 15
	values := []int{
		wholeSeconds(cmp.Or(k.Idle, seconds*time.Second)),
		wholeSeconds(cmp.Or(k.Interval, seconds*time.Second)), cmp.Or(k.Count, probes),
	}
	for i, option := range keepAliveOptions {
		if values[i] < 0 {
			continue
		}
		if err := setInt(fd, unix.IPPROTO_TCP, option, values[i]); err != nil {
			return err
		}
	}
	return nil
}

// wholeSeconds rounds up, as package net does.
func wholeSeconds(d time.Duration) int {
	if d < 0 {
		return -1
	}
	return int((d + time.Second - 1) / time.Second)
}

// SetReusePort has sockets share an address, of which the kernel draws one for each connection.
func SetReusePort(fd int) error { return setInt(fd, unix.SOL_SOCKET, reusePort, 1) }

// setInt is setsockopt(2).
func setInt(fd, level, option, value int) error {
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, level, option, value))
}

// ErrAddress is Connect's for an address that is none of a stream socket.
var ErrAddress = errors.New("no address of a stream socket")

// Connect opens a socket in non-blocking mode, which other programs do not inherit, and begins to connect it
// to a *net.TCPAddr or a *net.UnixAddr: connect(2). It says whether the socket is a stream over IP, and
// ErrAddress of another address. An unspecified address is this host's, as for package net.
func Connect(addr net.Addr) (fd int, stream bool, err error) {
	domain, to := unix.AF_UNIX, unix.Sockaddr(nil)
	switch a := addr.(type) {
	case *net.TCPAddr:
		domain, to = inet(a.AddrPort())
	case *net.UnixAddr:
		if a.Net == "" || a.Net == "unix" {
			to = &unix.SockaddrUnix{Name: a.Name}
		}
	}
	if to == nil {
		return -1, false, ErrAddress
	}
	if fd, err = streamSocket(domain); err != nil {
		return -1, false, err
	}
	if domain != unix.AF_UNIX {
		err = SetNoDelay(fd) // as package net does
	}
	if err == nil {
		err = unix.Connect(fd, to)
	}
	if err != nil && err != unix.EINPROGRESS && err != unix.EINTR { // after EINTR it goes on (connect(2))
		Close(fd)
		return -1, false, err
	}
	return fd, domain != unix.AF_UNIX, nil
}

// inet returns the socket address of ip.
func inet(ip netip.AddrPort) (domain int, to unix.Sockaddr) {
	a := ip.Addr().Unmap()
	switch {
	case !a.IsValid() || a == netip.IPv4Unspecified():
		a = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case a == netip.IPv6Unspecified():
		a = netip.IPv6Loopback()
	}
	if a.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(ip.Port()), Addr: a.As4()}
	}
	zone, err := strconv.ParseUint(a.Zone(), 10, 32)
	if err != nil && a.Zone() != "" {
		if i, err := net.InterfaceByName(a.Zone()); err == nil {
			zone = uint64(i.Index)
		}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(ip.Port()), Addr: a.As16(), ZoneId: uint32(zone)}
}

// Connected says how far what Connect began is: EINPROGRESS, 0, or why it failed (connect(2),
// EINPROGRESS). Where nobody listens at a port that connections are given, one may be given that
// very port, and is connected to itself: it was refused, as by package net.
func Connected(fd int) syscall.Errno {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return errnoOf(err)
	}
	if n != 0 {
		return syscall.Errno(n)
	}
	peer, err := unix.Getpeername(fd)
	if err != nil { // a spurious edge
		return unix.EINPROGRESS
	}
	if own, err := unix.Getsockname(fd); err == nil && sameIP(own, peer) {
		return unix.ECONNREFUSED
	}
	return 0
}

// sameIP reports whether both are one address and port of IP.
func sameIP(a, b unix.Sockaddr) bool {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		b, ok := b.(*unix.SockaddrInet4)
		return ok && a.Port == b.Port && a.Addr == b.Addr
	case *unix.SockaddrInet6:
		b, ok := b.(*unix.SockaddrInet6)
		return ok && a.Port == b.Port && a.Addr == b.Addr
	}
	return false
}

func errnoOf(err error) syscall.Errno {
	if errno, ok := err.(syscall.Errno); ok {
		return errno
	}
	return unix.EIO // x/sys fails with an Errno only
}
