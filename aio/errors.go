package aio

import (
	"errors"
	"net"
	"os"

	"evenkeel.dev/aio/internal/proactor"
)

// Errors of calls and of Result.Error. They are not wrapped.
var (
	// ErrClosed, which is net.ErrClosed, says that the connection or the listener is closed.
	ErrClosed = net.ErrClosed

	// ErrWatcherClosed says that the watcher is closed or shutting down.
	ErrWatcherClosed = errors.New("aio: the watcher is closed")

	// ErrNoDescriptor says that the connection or listener is nil or has no file descriptor, such
	// as a net.Pipe or a tls.Conn.
	ErrNoDescriptor = proactor.ErrNoDescriptor

	// ErrDatagram says that the socket is not a stream, such as UDP. Reads would join its messages.
	ErrDatagram = proactor.ErrDatagram

	// ErrUnresolved says that Dial's address has a name, or is not a stream socket's.
	ErrUnresolved = proactor.ErrUnresolved

	// ErrWaiting says that another goroutine is in WaitIO.
	ErrWaiting = errors.New("aio: another goroutine is in WaitIO: call it from one goroutine per Watcher")

	// ErrDeadline, which is os.ErrDeadlineExceeded, says that the deadline passed before the end.
	ErrDeadline = os.ErrDeadlineExceeded

	// ErrCancelled says that Cancel ended the operation.
	ErrCancelled = errors.New("aio: the operation was cancelled")

	// ErrEmptyBuffer says that there is nothing to write or no room to read into.
	ErrEmptyBuffer = errors.New("aio: empty buffer")

	// ErrQueueFull says that WaitIO has not returned Options.MaxQueued operations, MaxQueuedBytes
	// of the connection, or MaxWatcherBytes of all. The operation was not begun.
	ErrQueueFull = errors.New("aio: too many operations queued: wait for one to be returned")

	// ErrPending says that operations are pending on a connection to Detach.
	ErrPending = errors.New("aio: operations of the connection are pending: Cancel them, and wait until WaitIO has " +
		"returned them")

	// ErrTooManyConns says that Options.MaxConns connections are open.
	ErrTooManyConns = errors.New("aio: too many connections: close one, or raise Options.MaxConns")
)

var causes = [...]error{
	proactor.TimedOut: ErrDeadline, proactor.Cancelled: ErrCancelled, proactor.ConnClosed: ErrClosed,
	proactor.WatcherClosed: ErrWatcherClosed,
}

// errOf returns nil for proactor.None.
func errOf(c proactor.Cause) error { return causes[c] }
