//go:build darwin || freebsd || openbsd || netbsd || dragonfly

package poller

import (
	"net"
	"syscall"

	"evenkeel.dev/internal/proactor"
	"evenkeel.dev/internal/sys"
)

// NewKqueue returns a backend over kqueue.
func NewKqueue() (*Poller, error) {
	q, err := sys.NewKqueue(batch)
	if err != nil {
		return nil, err
	}
	return NewKqueueOver(calls{q})
}

// calls are the real ones.
type calls struct{ *sys.Kqueue }

func (calls) Dup(conn net.Conn) (fd int, stream bool, err error) {
	if fd, err = sys.Dup(conn); err != nil {
		return -1, false, err
	}
	if fd < 0 {
		return -1, false, proactor.ErrNoDescriptor
	}
	sys.NoSigpipe(fd)
	return fd, sys.IsStream(fd), nil
}

func (calls) Recv(fd int, buf []byte) (int, syscall.Errno) { return sys.Recv(fd, buf) }
func (calls) Send(fd int, buf []byte) (int, syscall.Errno) { return sys.Send(fd, buf) }
func (calls) ShutWrite(fd int) syscall.Errno               { return sys.ShutWrite(fd) }
func (calls) CloseFd(fd int)                               { sys.CloseSocket(fd) }
func (calls) Pipe() (r, w int, err error)                  { return sys.Pipe() }
func (calls) Read(fd int, buf []byte) (int, error)         { return sys.Read(fd, buf) }
func (calls) Write(fd int, buf []byte) (int, error)        { return sys.Write(fd, buf) }
