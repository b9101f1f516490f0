package aio

import (
	"fmt"
	"log/slog"
)

// Backend names how the operating system is asked.
type Backend int

const (
	Auto    Backend = iota // IOUring where the kernel permits it, else Epoll; Kqueue on macOS and the BSDs
	IOUring                // Linux 5.7 and later
	Epoll                  // Linux
	Kqueue                 // macOS, FreeBSD, OpenBSD, NetBSD, DragonFly BSD
)

var backendNames = [...]string{Auto: "auto", IOUring: "io_uring", Epoll: "epoll", Kqueue: "kqueue"}

// String returns the backend's name: auto, io_uring, epoll or kqueue.
func (b Backend) String() string {
	if b < 0 || int(b) >= len(backendNames) {
		return fmt.Sprintf("Backend(%d)", int(b))
	}
	return backendNames[b]
}

// ParseBackend returns the backend of that name.
func ParseBackend(name string) (Backend, error) {
	for b, n := range backendNames {
		if n == name {
			return Backend(b), nil
		}
	}
	return Auto, fmt.Errorf("aio: no backend %q: it is auto, io_uring, epoll or kqueue", name)
}

// Options configures a Watcher. The zero value works.
type Options struct {
	// Backend is how the operating system is asked. Default: Auto.
	Backend Backend

	// SwapSize is the size of the buffer for reads that bring none, in bytes. It is shared by the
	// reads of one WaitIO; when it is full, these get 16 bytes each. On io_uring (Linux 6.12) it
	// is cut into eighths, and one read gets what is left of one of them at most. Default: 64 KiB. Limit: 1 GiB.
	SwapSize int

	// MaxQueued is how many operations one connection may have submitted that WaitIO has not
	// returned. One more is refused with ErrQueueFull. Default: 1024. Limit: 2^20.
	MaxQueued int

	// Logger gets Warn for what needs an operator: io_uring not available where Auto wanted it, a
	// thread that could not be bound, memory that the kernel did not give back. Default: slog.Default().
	Logger *slog.Logger
}

const (
	defaultSwapSize  = 64 << 10
	maxSwapSize      = 1 << 30
	defaultMaxQueued = 1024
	maxMaxQueued     = 1 << 20
)

// normal returns o with its defaults filled in.
func (o Options) normal() (Options, error) {
	switch {
	case o.SwapSize < 0 || o.SwapSize > maxSwapSize:
		return o, fmt.Errorf("aio: Options.SwapSize is %d: it must be 1 to %d bytes, or 0 for the default", o.SwapSize, maxSwapSize)
	case o.MaxQueued < 0 || o.MaxQueued > maxMaxQueued:
		return o, fmt.Errorf("aio: Options.MaxQueued is %d: it must be 1 to %d, or 0 for the default", o.MaxQueued, maxMaxQueued)
	case o.Backend < 0 || int(o.Backend) >= len(backendNames):
		return o, fmt.Errorf("aio: Options.Backend is %d: it must be Auto, IOUring, Epoll or Kqueue", o.Backend)
	}
	if o.SwapSize == 0 {
		o.SwapSize = defaultSwapSize
	}
	if o.MaxQueued == 0 {
		o.MaxQueued = defaultMaxQueued
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o, nil
}
