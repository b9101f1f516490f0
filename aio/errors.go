package aio

import (
	"errors"
	"fmt"
	"net"
	"os"

	"evenkeel.dev/aio/internal/proactor"
)

// Errors, as they are: returned by calls, or in Result.Error, never wrapped there.
var (
	// ErrClosed says that the connection or the listener is closed: before the operation was
	// submitted, or while it was pending. It is net.ErrClosed.
	ErrClosed = net.ErrClosed

	// ErrWatcherClosed says that the watcher is closed, or is being shut down.
	ErrWatcherClosed = errors.New("aio: the watcher is closed")

	// ErrNoDescriptor is Attach's and AttachListener's for what is nil, or has no file descriptor of its
	// own, such as a net.Pipe or a tls.Conn.
	ErrNoDescriptor = errors.New("aio: the connection has no file descriptor: attach the *net.TCPConn or " +
		"*net.UnixConn below it")

	// ErrDatagram is Attach's and AttachListener's for a socket of datagrams or packets, as UDP's
	// are: reads would not keep them apart, and an empty one would be the peer's end.
	ErrDatagram = errors.New("aio: the connection is one of datagrams or packets (udp, unixgram, unixpacket): use " +
		"package net for it")

	// ErrUnresolved is Dial's for an address that is no stream socket's, that has a name, or whose
	// IP or port cannot be one.
	ErrUnresolved = errors.New("aio: the address is no IP and port, nor a unix socket's: resolve a name before, as " +
		"by net.ResolveTCPAddr or a net.Resolver, outside of the loop")

	// ErrWaiting says that another goroutine is in WaitIO: results and swap buffers are valid until
	// the next WaitIO, so two would take each other's away. One goroutine drives a Watcher.
	ErrWaiting = errors.New("aio: another goroutine is in WaitIO: have one goroutine a Watcher call it, and make a " +
		"Watcher for each that shall")

	// ErrDeadline says that the operation's deadline passed before it was over. It is
	// os.ErrDeadlineExceeded.
	ErrDeadline = os.ErrDeadlineExceeded

	// ErrCancelled says that Conn.Cancel has ended the operation.
	ErrCancelled = errors.New("aio: the operation was cancelled")

	// ErrEmptyBuffer says that there is nothing to write, or no room to read into. A nil buffer
	// of Read is neither: it asks for the swap buffer.
	ErrEmptyBuffer = errors.New("aio: empty buffer")

	// ErrQueueFull says that Options.MaxQueued operations of the connection were not returned by
	// WaitIO yet, or writes of Options.MaxQueuedBytes of it, or of MaxWatcherBytes of all: wait for one.
	// The operation was not begun.
	ErrQueueFull = errors.New("aio: too many operations queued: wait for one to be returned")

	// ErrPending is Detach's while operations of the connection were not returned by WaitIO.
	ErrPending = errors.New("aio: operations of the connection are pending: Cancel them, and wait until WaitIO has " +
		"returned them")

	// ErrTooManyConns says that Options.MaxConns connections are open. One to attach is the caller's still.
	ErrTooManyConns = errors.New("aio: too many connections: close one, or raise Options.MaxConns")
)

// An UnsupportedError says what the system lacks for what was asked for. For it,
// errors.Is(err, errors.ErrUnsupported) holds.
type UnsupportedError struct {
	Feature string // such as "io_uring"
	Need    string // what would have to be there
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("aio: %s is not available here: %s", e.Feature, e.Need)
}

// Is reports whether target is errors.ErrUnsupported.
func (e *UnsupportedError) Is(target error) bool { return target == errors.ErrUnsupported }

// errOf returns the error of an operation that was ended for that cause, or nil.
func errOf(c proactor.Cause) error {
	switch c {
	case proactor.TimedOut:
		return ErrDeadline
	case proactor.Cancelled:
		return ErrCancelled
	case proactor.ConnClosed:
		return ErrClosed
	case proactor.WatcherClosed:
		return ErrWatcherClosed
	}
	return nil
}
