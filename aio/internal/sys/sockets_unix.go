//go:build linux || darwin || freebsd || openbsd || netbsd || dragonfly

package sys

import (
	"net"
	"net/netip"
	"os"
	"reflect"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"evenkeel.dev/aio/internal/proactor"
)

func SetNoDelay(fd int) error {
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
}

// Connect opens a socket, non-blocking and close-on-exec, and begins to connect it to a
// *net.TCPAddr or a *net.UnixAddr. stream is true over IP. An unspecified address is this host's,
// as for package net.
func (Sockets) Connect(addr net.Addr) (fd int, stream bool, err error) {
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
		return -1, false, proactor.ErrUnresolved
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

// Connected returns EINPROGRESS, nil, or why Connect failed. If no socket listens at an ephemeral
// port, the connection may be given that port and connect to itself. This counts as refused, as in
// package net.
func (Sockets) Connected(fd int) error {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return err
	}
	if n != 0 {
		return syscall.Errno(n)
	}
	peer, err := unix.Getpeername(fd)
	if err != nil { // a spurious edge
		return unix.EINPROGRESS
	}
	if _, local := peer.(*unix.SockaddrUnix); local { // both ends may have the empty name
		return nil
	}
	if own, err := unix.Getsockname(fd); err == nil && reflect.DeepEqual(own, peer) {
		return unix.ECONNREFUSED
	}
	return nil
}
