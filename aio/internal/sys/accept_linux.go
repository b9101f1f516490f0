package sys

import (
	"net"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// unnamed is the address of a unix socket that was bound to no name, as most peers are, by the name
// that it has in package net on Linux.
var unnamed net.Addr = &net.UnixAddr{Net: "unix", Name: "@"}

// Accept is accept4(2) on a listening socket. The connection is in non-blocking mode, and not
// inherited by other programs. It does not block, so the scheduler is not told: the socket's mode is
// that of all who have a duplicate of it, whose os.File.Fd, or os/exec with it, ends it, so it is set
// each time that it is not. The peer's address is known though it has reset the connection already.
func Accept(fd int) (conn int, ip netip.AddrPort, other net.Addr, errno syscall.Errno) {
	if mode, _, errno := unix.RawSyscall(unix.SYS_FCNTL, uintptr(fd), unix.F_GETFL, 0); errno == 0 &&
		mode&unix.O_NONBLOCK == 0 {
		_, _, _ = unix.RawSyscall(unix.SYS_FCNTL, uintptr(fd), unix.F_SETFL, mode|unix.O_NONBLOCK)
	}
	var raw unix.RawSockaddrAny
	for {
		n := uint32(unix.SizeofSockaddrAny)
		r, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd), uintptr(unsafe.Pointer(&raw)),
			uintptr(unsafe.Pointer(&n)), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
		if errno == 0 {
			ip, other = address(&raw, n)
			return int(r), ip, other, 0
		}
		if errno != unix.EINTR {
			return -1, ip, nil, errno
		}
	}
}

// Local is getsockname(2). Of a failure it returns neither.
func Local(fd int) (ip netip.AddrPort, other net.Addr) {
	var raw unix.RawSockaddrAny
	n := uint32(unix.SizeofSockaddrAny)
	if _, _, errno := unix.RawSyscall(unix.SYS_GETSOCKNAME, uintptr(fd), uintptr(unsafe.Pointer(&raw)),
		uintptr(unsafe.Pointer(&n))); errno != 0 {
		return ip, nil
	}
	return address(&raw, n)
}

// address returns what raw, of which the kernel wrote n bytes, says.
func address(raw *unix.RawSockaddrAny, n uint32) (ip netip.AddrPort, other net.Addr) {
	switch raw.Addr.Family {
	case unix.AF_INET:
		a := (*unix.RawSockaddrInet4)(unsafe.Pointer(raw))
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), port(&a.Port)), nil
	case unix.AF_INET6:
		a := (*unix.RawSockaddrInet6)(unsafe.Pointer(raw))
		return netip.AddrPortFrom(withZone(netip.AddrFrom16(a.Addr), a.Scope_id), port(&a.Port)), nil
	case unix.AF_UNIX:
		a := (*unix.RawSockaddrUnix)(unsafe.Pointer(raw))
		if n <= 2 {
			return ip, unnamed
		}
		path := unsafe.Slice((*byte)(unsafe.Pointer(&a.Path[0])), min(int(n)-2, len(a.Path)))
		if path[0] == 0 { // abstract: all of it is the name (unix(7))
			return ip, &net.UnixAddr{Net: "unix", Name: "@" + string(path[1:])}
		}
		return ip, &net.UnixAddr{Net: "unix", Name: unix.ByteSliceToString(path)}
	}
	return ip, nil
}

// port returns a port as it is in a socket address: in network order.
func port(p *uint16) uint16 {
	b := (*[2]byte)(unsafe.Pointer(p))
	return uint16(b[0])<<8 | uint16(b[1])
}

// streamSocket is socket(2), in non-blocking mode and not inherited by other programs.
func streamSocket(domain int) (int, error) {
	return unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
}
