package gaio

import (
	"errors"
	"net"
	"syscall"

	"evenkeel.dev/aio"
)

// Errors have gaio's names, and are compared with ==: returned by calls, or in OpResult.Error, never
// wrapped there.
var (
	// ErrUnsupported says that the watcher cannot work with this connection: it is nil, is no
	// pointer, or has no file descriptor (a net.Pipe, a tls.Conn).
	ErrUnsupported = errors.New("gaio: unsupported connection: it must be a pointer with a file descriptor")

	// ErrNoRawConn says that the connection did not give its descriptor away.
	ErrNoRawConn = errors.New("gaio: the connection's SyscallConn failed")

	// ErrWatcherClosed says that the watcher is closed, or is being shut down.
	ErrWatcherClosed = aio.ErrWatcherClosed

	// ErrPollerClosed is ErrWatcherClosed: the poller is no part of its own here.
	ErrPollerClosed = aio.ErrWatcherClosed

	// ErrConnClosed says that the connection was freed, or closed before it was delegated.
	ErrConnClosed = errors.New("gaio: the connection is closed")

	// ErrDeadline says that the operation's deadline passed before it was over. It is
	// os.ErrDeadlineExceeded.
	ErrDeadline = aio.ErrDeadline

	// ErrEmptyBuffer says that there is nothing to write, or no room to read into. A nil buffer
	// of Read or ReadTimeout is none of these: it asks for the swap buffer.
	ErrEmptyBuffer = aio.ErrEmptyBuffer

	// ErrCPUID says that there is no such CPU, or that this process may not run on it.
	ErrCPUID = errors.New("gaio: no such CPU for this process: taskset -cp lists those that it may run on")

	// ErrQueueFull is that of an OpResult: the connection has 2^20 operations that WaitIO has not
	// returned, or as many as the Watcher given to Over allows. gaio has no such bound.
	ErrQueueFull = aio.ErrQueueFull

	// ErrWaiting says that another goroutine is in WaitIO. In gaio each takes the other's results away.
	ErrWaiting = aio.ErrWaiting
)

// refusal returns what an operation comes back with whose connection could not be attached, or was
// freed meanwhile.
func refusal(err error) error {
	var errno syscall.Errno
	switch {
	case err == aio.ErrNoDescriptor:
		return ErrUnsupported
	case errors.Is(err, net.ErrClosed):
		return ErrConnClosed
	case errors.As(err, &errno):
		return errno
	}
	return ErrNoRawConn
}
