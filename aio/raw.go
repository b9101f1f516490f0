package aio

import (
	"net"
	"os"
	"syscall"

	"evenkeel.dev/aio/internal/proactor"
	"evenkeel.dev/aio/internal/sys"
)

// SyscallConn implements syscall.Conn, for options of the socket that have no method here. The
// descriptor is valid until Control's function returns. The Watcher waits for it, so the function
// must not call methods of the Watcher or its connections.
//
// Control fails with ErrClosed and ErrWatcherClosed. Read and Write of the syscall.RawConn fail
// with an *UnsupportedError. So does Control without a descriptor (package aio/aiotest).
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	if c.watcher() == nil {
		return nil, ErrClosed // the zero Conn
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

// File returns a duplicate of the connection's descriptor, which the caller closes. Both share the
// socket and stay non-blocking. It fails with ErrClosed, ErrWatcherClosed, an error of fcntl(2),
// and without a descriptor (package aio/aiotest) an *UnsupportedError.
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

// SetNoDelay sets TCP_NODELAY (tcp(7)), which is on at first: each write is sent at once.
//
// SetNoDelay, SetKeepAliveConfig and SetLinger may be called while operations are pending. They
// fail with ErrClosed, ErrWatcherClosed, an error of setsockopt(2), and without a descriptor
// (package aio/aiotest) an *UnsupportedError.
func (c *Conn) SetNoDelay(on bool) error {
	return c.set(func(fd int) error { return setNoDelay(fd, on) })
}

// SetKeepAliveConfig configures keep-alive probes. Reads fail with ETIMEDOUT if the peer does not
// answer them. Zero times and counts are package net's defaults. Negative ones stay as they are.
// OpenBSD has one setting for the whole system. See SetNoDelay for errors.
func (c *Conn) SetKeepAliveConfig(config net.KeepAliveConfig) error {
	return c.set(func(fd int) error { return setKeepAlive(fd, config) })
}

// SetLinger with 0 seconds makes Close discard unsent data and reset the connection. With other
// values the kernel goes on sending after Close, which never waits. A positive time takes effect
// only after a Detach. See SetNoDelay for errors.
func (c *Conn) SetLinger(seconds int) error {
	return c.set(func(fd int) error { return setLinger(fd, seconds) })
}

func (c *Conn) set(option func(fd int) error) error {
	if c.watcher() == nil {
		return ErrClosed
	}
	var set error
	if err := (raw{c}).Control(func(fd uintptr) { set = option(int(fd)) }); err != nil {
		return err
	}
	return set
}
