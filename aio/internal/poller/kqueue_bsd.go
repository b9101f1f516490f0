//go:build darwin || freebsd || openbsd || netbsd || dragonfly

package poller

import (
	"syscall"

	"evenkeel.dev/aio/internal/sys"
)

func NewKqueue() (*Poller, error) {
	q, err := sys.NewKqueue(batch)
	if err != nil {
		return nil, err
	}
	return NewKqueueOver(calls{Kqueue: q})
}

type calls struct {
	*sys.Kqueue
	Sockets
}

func (c calls) Dup(source any) (fd int, stream bool, err error) {
	if fd, stream, err = c.Sockets.Dup(source); err == nil {
		sys.NoSigpipe(fd)
	}
	return fd, stream, err
}

func (calls) Sendv(fd int, bufs [][]byte) (int, syscall.Errno) { return sys.Sendv(fd, bufs) }
func (calls) Pipe() (r, w int, err error)                      { return sys.Pipe() }
func (calls) Read(fd int, buf []byte) (int, error)             { return sys.Read(fd, buf) }
func (calls) Write(fd int, buf []byte) (int, error)            { return sys.Write(fd, buf) }
