package aio

import (
	"errors"
	"os"

	"evenkeel.dev/internal/proactor"
)

// Errors, as they are: returned by calls, or in OpResult.Error, never wrapped there.
var (
	// ErrUnsupported says that the watcher cannot work with this connection: it is nil, is no
	// pointer, has no file descriptor (a net.Pipe, a tls.Conn), or is another watcher's.
	ErrUnsupported = errors.New("aio: unsupported connection: it must be a pointer with a file descriptor, of no other watcher")

	// ErrNoRawConn says that the connection did not give its descriptor away.
	ErrNoRawConn = errors.New("aio: the connection's SyscallConn failed")

	// ErrWatcherClosed says that the watcher is closed, or is being shut down.
	ErrWatcherClosed = errors.New("aio: the watcher is closed")

	// ErrPollerClosed is ErrWatcherClosed: the poller is no part of its own here.
	ErrPollerClosed = ErrWatcherClosed

	// ErrConnClosed says that the connection was freed, or closed before it was delegated.
	ErrConnClosed = errors.New("aio: the connection is closed")

	// ErrWaiting says that another goroutine is in WaitIO: results and swap buffers are valid until
	// the next WaitIO, so two would take each other's away. One goroutine drives a Watcher.
	ErrWaiting = errors.New("aio: another goroutine is in WaitIO: have one goroutine a Watcher call it, and make a Watcher for each that shall")

	// ErrDeadline says that the operation's deadline passed before it was over.
	ErrDeadline = os.ErrDeadlineExceeded

	// ErrEmptyBuffer says that there is nothing to write, or no room to read into. A nil buffer
	// of Read or ReadTimeout is none of these: it asks for the swap buffer.
	ErrEmptyBuffer = errors.New("aio: empty buffer")

	// ErrCPUID says that there is no such CPU, or that this process may not run on it.
	ErrCPUID = errors.New("aio: no such CPU for this process: taskset -cp lists those that it may run on")

	// ErrQueueFull says that the connection has Options.MaxQueued operations that have not been
	// returned by WaitIO yet: wait for one. The operation was not submitted.
	ErrQueueFull = errors.New("aio: too many operations queued on the connection: wait for one to complete")
)

// UnsupportedError says what the system lacks for what was asked for. For it,
// errors.Is(err, errors.ErrUnsupported) holds.
type UnsupportedError = proactor.UnsupportedError
