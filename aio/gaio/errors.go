package gaio

import (
	"errors"
	"net"
	"syscall"

	"evenkeel.dev/aio"
)

// Errors have gaio's names. They are not wrapped.
var (
	// ErrUnsupported says that the connection is nil, is not a pointer, or has no file descriptor.
	ErrUnsupported = errors.New("gaio: unsupported connection: it must be a pointer with a file descriptor")

	// ErrNoRawConn says that the connection's SyscallConn failed.
	ErrNoRawConn = errors.New("gaio: the connection's SyscallConn failed")

	// ErrWatcherClosed says that the watcher is closed or shutting down.
	ErrWatcherClosed = aio.ErrWatcherClosed

	// ErrPollerClosed is ErrWatcherClosed. The poller is not separate here.
	ErrPollerClosed = aio.ErrWatcherClosed

	// ErrConnClosed says that the connection was freed, or closed before it was delegated.
	ErrConnClosed = errors.New("gaio: the connection is closed")

	// ErrDeadline is os.ErrDeadlineExceeded: the deadline passed before the operation was over.
	ErrDeadline = aio.ErrDeadline

	// ErrEmptyBuffer says that there is nothing to write or no room to read into. A nil buffer of a
	// read asks for the swap buffer.
	ErrEmptyBuffer = aio.ErrEmptyBuffer

	// ErrCPUID says that this process may not run on that CPU.
	ErrCPUID = errors.New("gaio: no such CPU for this process: taskset -cp lists those that it may run on")

	// ErrQueueFull says that the connection has 2^20 operations that WaitIO has not returned, or as
	// many as Over's Watcher allows.
	ErrQueueFull = aio.ErrQueueFull

	// ErrWaiting says that another goroutine is in WaitIO.
	ErrWaiting = aio.ErrWaiting
)

// refusal returns the error of an operation whose connection was not attached, or was freed.
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
