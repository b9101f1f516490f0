package aio

import (
	"net"
	"os"
	"syscall"

	"evenkeel.dev/aio/internal/proactor"
	"evenkeel.dev/aio/internal/sys"
)

// SyscallConn implements syscall.Conn, for options of the socket that have no method here: Control
// calls its function with the descriptor, which is open and this connection's until that returns.
// The Watcher waits meanwhile, so the function must call no method of it or of its connections.
// Close does not wait for a linger time above zero.
//
// Control fails with ErrClosed and ErrWatcherClosed. Read and Write of the syscall.RawConn, and a Control where there
// is no descriptor (package aio/aiotest), fail with an *UnsupportedError.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	if c.watcher() == nil {
		return nil, ErrClosed // no Watcher has made it
	}
	return raw{c}, nil
}

type raw struct{ *Conn }

func (r raw) Control(f func(fd uintptr)) error {
	w := r.watcher()
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.desc.Gone != proactor.None {
		return errOf(r.desc.Gone)
	}
	if !w.backend.Control(&r.desc, f) {
		return &UnsupportedError{"Control", "a backend of the operating system"}
	}
	return nil
}

// File returns a duplicate of the connection's descriptor, which the caller closes. The two share the socket: its
// options, and what is read and written. Both stay non-blocking. It fails with ErrClosed, ErrWatcherClosed, what
// fcntl(2) says, and, where there is no descriptor (package aio/aiotest), an *UnsupportedError.
func (c *Conn) File() (*os.File, error) {
	fd, err := sys.Dup(c)
	switch {
	case err != nil:
		return nil, err
	case fd < 0:
		return nil, &UnsupportedError{"File", "a backend of the operating system"}
	}
	return os.NewFile(uintptr(fd), ""), nil
}

var errRaw = &UnsupportedError{
	"Read or Write of a RawConn",
	"operations of the Conn, as the Watcher transfers, or Detach",
}

func (raw) Read(func(fd uintptr) bool) error  { return errRaw }
func (raw) Write(func(fd uintptr) bool) error { return errRaw }

// SetNoDelay has each write sent at once, which connections begin with, or, with false, small ones
// wait for more while something is not acknowledged (TCP_NODELAY, tcp(7)).
//
// It, SetKeepAliveConfig and SetLinger may be called while operations are pending. They fail with
// ErrClosed, ErrWatcherClosed, what setsockopt(2) says, such as of a unix socket, and, where there
// is no descriptor (package aio/aiotest), an *UnsupportedError.
func (c *Conn) SetNoDelay(on bool) error {
	return c.set(func(fd int) error { return setNoDelay(fd, on) })
}

// SetKeepAliveConfig has the kernel ask an idle peer whether it is still there, or not any more;
// reads fail with ETIMEDOUT when it is not. Zero times and counts are package net's defaults, what
// is negative stays as it is, and so do all with Enable false. OpenBSD has these times for the
// whole system. See SetNoDelay for errors.
func (c *Conn) SetKeepAliveConfig(config net.KeepAliveConfig) error {
	return c.set(func(fd int) error { return setKeepAlive(fd, config) })
}

// SetLinger, with 0 seconds, has Close discard what the peer has not received, and reset the
// connection. Below 0, which connections begin with, the kernel goes on sending after it. So it
// does above 0, as Close waits for nothing; that time is of use after a Detach alone. See
// SetNoDelay for errors.
func (c *Conn) SetLinger(seconds int) error {
	return c.set(func(fd int) error { return setLinger(fd, seconds) })
}

// set sets an option.
func (c *Conn) set(option func(fd int) error) error {
	if c.watcher() == nil {
		return ErrClosed // no Watcher has made it
	}
	var set error
	if err := (raw{c}).Control(func(fd uintptr) { set = option(int(fd)) }); err != nil {
		return err
	}
	return set
}
