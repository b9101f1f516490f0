package sys

import (
	"net"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"

	"evenkeel.dev/aio/internal/proactor"
)

// unnamed is the address of a unix socket without a name, as package net has it.
var unnamed net.Addr = &net.UnixAddr{Net: "unix", Name: "@"}

// Accept is accept4(2). The connection is non-blocking and close-on-exec. All duplicates of the
// listener share its mode, and os.File.Fd makes it block, so Accept restores the mode. It does not
// block, so it does not tell the scheduler.
func (Sockets) Accept(fd int) (conn int, remote proactor.Addr, err error) {
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
			return int(r), address(&raw, n), nil
		}
		if errno != unix.EINTR {
			return -1, remote, errno
		}
	}
}

// Local is getsockname(2). It returns the zero value if that fails.
func (Sockets) Local(fd int) (local proactor.Addr) {
	var raw unix.RawSockaddrAny
	n := uint32(unix.SizeofSockaddrAny)
	if _, _, errno := unix.RawSyscall(unix.SYS_GETSOCKNAME, uintptr(fd), uintptr(unsafe.Pointer(&raw)),
		uintptr(unsafe.Pointer(&n))); errno != 0 {
		return local
	}
	return address(&raw, n)
}

// address decodes raw, of which the kernel wrote n bytes.
func address(raw *unix.RawSockaddrAny, n uint32) proactor.Addr {
	switch raw.Addr.Family {
	case unix.AF_INET:
		a := (*unix.RawSockaddrInet4)(unsafe.Pointer(raw))
		return proactor.Addr{IP: netip.AddrPortFrom(netip.AddrFrom4(a.Addr), port(&a.Port))}
	case unix.AF_INET6:
		a := (*unix.RawSockaddrInet6)(unsafe.Pointer(raw))
		return proactor.Addr{IP: netip.AddrPortFrom(withZone(netip.AddrFrom16(a.Addr), a.Scope_id), port(&a.Port))}
	case unix.AF_UNIX:
		a := (*unix.RawSockaddrUnix)(unsafe.Pointer(raw))
		if n <= 2 {
			return proactor.Addr{Other: unnamed}
		}
		path := unsafe.Slice((*byte)(unsafe.Pointer(&a.Path[0])), min(int(n)-2, len(a.Path)))
		if path[0] == 0 { // abstract: all of it is the name (unix(7))
			return proactor.Addr{Other: &net.UnixAddr{Net: "unix", Name: "@" + string(path[1:])}}
		}
		return proactor.Addr{Other: &net.UnixAddr{Net: "unix", Name: unix.ByteSliceToString(path)}}
	}
	return proactor.Addr{}
}

func port(p *uint16) uint16 {
	b := (*[2]byte)(unsafe.Pointer(p))
	return uint16(b[0])<<8 | uint16(b[1])
}

// streamSocket is socket(2), non-blocking and close-on-exec.
func streamSocket(domain int) (int, error) {
	return unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
}
