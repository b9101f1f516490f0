package aio

import (
	"os"
	"syscall"

	"evenkeel.dev/aio/internal/proactor"
	"evenkeel.dev/aio/internal/sys"
)

// SyscallConn implements syscall.Conn, for socket options. The Watcher waits for Control's
// function, so the function must not call methods of the Watcher or its connections.
//
// Control fails with ErrClosed and ErrWatcherClosed. Read and Write of the syscall.RawConn fail
// with an error that matches errors.ErrUnsupported, and so does Control with package aio/aiotest.
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
	if r.desc.Released != proactor.None {
		return errOf(r.desc.Released)
	}
	if !w.backend.Control(&r.desc, f) {
		return errNoDescriptor
	}
	return nil
}

// File returns a duplicate of the connection's descriptor, which the caller closes. Both share the
// socket and stay non-blocking. It fails as Control of SyscallConn, and as fcntl(2).
func (c *Conn) File() (*os.File, error) {
	fd, err := sys.Dup(c)
	switch {
	case err != nil:
		return nil, err
	case fd < 0:
		return nil, errNoDescriptor
	}
	return os.NewFile(uintptr(fd), ""), nil
}

var (
	errNoDescriptor = &proactor.MissingError{Feature: "a descriptor", Need: "a backend of the operating system"}
	errRaw          = &proactor.MissingError{
		Feature: "Read or Write of a RawConn",
		Need:    "operations of the Conn, because the Watcher transfers, or Detach",
	}
)

func (raw) Read(func(fd uintptr) bool) error  { return errRaw }
func (raw) Write(func(fd uintptr) bool) error { return errRaw }
