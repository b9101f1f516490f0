package aio

import (
	"syscall"

	"evenkeel.dev/internal/proactor"
)

// SyscallConn implements syscall.Conn, for the options of the socket: Control calls its function with the
// descriptor, which is open and this connection's until that returns. The Watcher waits meanwhile, so the function
// must call no method of it or of its connections. Close does not wait for a linger time above zero.
//
// Control fails with ErrClosed and ErrWatcherClosed. Read and Write of the syscall.RawConn, and a Control where there
// is no descriptor (package aio/aiotest), fail with an *UnsupportedError.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	if c.watcher == nil {
		return nil, ErrClosed // no Watcher has made it
	}
	return raw{c}, nil
}

type raw struct{ *Conn }

func (r raw) Control(f func(fd uintptr)) error {
	w := r.watcher
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

var errRaw = &UnsupportedError{"Read or Write of a RawConn", "operations of the Conn, as the Watcher transfers, or Detach"}

func (raw) Read(func(fd uintptr) bool) error  { return errRaw }
func (raw) Write(func(fd uintptr) bool) error { return errRaw }
