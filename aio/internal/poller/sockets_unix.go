//go:build linux || darwin || freebsd || openbsd || netbsd || dragonfly

package poller

import (
	"net"
	"syscall"

	"evenkeel.dev/aio/internal/proactor"
	"evenkeel.dev/aio/internal/sys"
)

// Sockets are the system's calls, without Sendv, whose memory epoll reuses.
type Sockets struct{}

func (Sockets) Accept(fd int) (conn int, remote proactor.Addr, errno syscall.Errno) {
	conn, remote.IP, remote.Other, errno = sys.Accept(fd)
	return conn, remote, errno
}

func (Sockets) Local(fd int) (local proactor.Addr) {
	local.IP, local.Other = sys.Local(fd)
	return local
}

func (Sockets) Connect(addr net.Addr) (fd int, stream bool, err error) {
	fd, stream, err = sys.Connect(addr)
	if err == sys.ErrAddress {
		err = proactor.ErrUnresolved
	}
	return fd, stream, err
}

func (Sockets) Connected(fd int) syscall.Errno { return sys.Connected(fd) }

func (Sockets) Dup(source any) (fd int, overIP bool, err error) {
	if fd, err = sys.Dup(source); err != nil {
		return -1, false, err
	}
	if fd < 0 {
		return -1, false, proactor.ErrNoDescriptor
	}
	stream, overIP := sys.Stream(fd)
	if !stream {
		sys.Close(fd)
		return -1, false, proactor.ErrDatagram
	}
	return fd, overIP, nil
}

func (Sockets) FileConn(fd int) (net.Conn, error) { return sys.FileConn(fd) }

func (Sockets) Unlinger(fd int) { sys.Unlinger(fd) }

func (Sockets) Recv(fd int, buf []byte) (int, syscall.Errno) { return sys.Recv(fd, buf) }
func (Sockets) Send(fd int, buf []byte) (int, syscall.Errno) { return sys.Send(fd, buf) }
func (Sockets) ShutWrite(fd int) syscall.Errno               { return sys.ShutWrite(fd) }
func (Sockets) CloseFd(fd int)                               { sys.Close(fd) }
