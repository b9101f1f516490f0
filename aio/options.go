package aio

import (
	"fmt"
	"log/slog"
)

// Options configures a Watcher. The zero value works.
type Options struct {
	// Backend is how the operating system is asked. Default: BackendAuto.
	Backend Backend

	// SwapSize is the size of the buffer for reads that bring none, in bytes. It is shared by the
	// reads of one WaitIO; those that find less than half of it left wait for the next WaitIO. So what
	// has come by the time of a read is returned whole, up to half of SwapSize. On io_uring (Linux 6.12)
	// it is cut into quarters; a read that reaches the end of one is copied to other memory, of up to
	// twice SwapSize, with what follows.
	// Default: 64 KiB. Limit: 1 GiB.
	SwapSize int

	// MaxQueued limits how many operations one connection may have submitted that WaitIO has not
	// returned, and how many posts the Watcher. One more is refused with ErrQueueFull.
	// Default: 1024. Limit: 2^20.
	MaxQueued int

	// Logger gets Warn for what needs an operator: io_uring not available where BackendAuto wanted
	// it, memory that the kernel did not return. Default: slog.Default().
	Logger *slog.Logger
}

const (
	defaultSwapSize  = 64 << 10
	maxSwapSize      = 1 << 30
	defaultMaxQueued = 1024
	maxMaxQueued     = 1 << 20
)

// normal returns o with its defaults filled in, or an *OptionError.
func (o Options) normal() (Options, error) {
	switch {
	case o.SwapSize < 0 || o.SwapSize > maxSwapSize:
		return o, &OptionError{"SwapSize", fmt.Sprintf("%d is not a size: write 1 to %d bytes, or 0 for %d", o.SwapSize, maxSwapSize, defaultSwapSize)}
	case o.MaxQueued < 0 || o.MaxQueued > maxMaxQueued:
		return o, &OptionError{"MaxQueued", fmt.Sprintf("%d is not a limit: write 1 to %d operations, or 0 for %d", o.MaxQueued, maxMaxQueued, defaultMaxQueued)}
	case o.Backend < 0 || int(o.Backend) >= len(backendNames):
		return o, &OptionError{"Backend", fmt.Sprintf("%d is no backend: write BackendAuto, BackendIOUring, BackendEpoll or BackendKqueue", o.Backend)}
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
