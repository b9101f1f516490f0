package aio

import (
	"cmp"
	"log/slog"

	"evenkeel.dev"
	"evenkeel.dev/aio/internal/proactor"
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

	// MaxQueuedBytes limits the bytes of one connection's writes that WaitIO has not returned,
	// MaxWatcherBytes those of all connections: memory that is the caller's, and that peers which
	// do not read keep. A write that would pass one is refused with ErrQueueFull, unless nothing is
	// queued yet of what that one counts (on its connection, or on any), however large it is. Those
	// of package netconn never are: their callers wait. Default: 64 MiB, and 1 GiB. Limit: 2^40
	// bytes.
	MaxQueuedBytes, MaxWatcherBytes int64

	// MaxConns limits how many connections are open at a time. Beyond it an Attach and a Dial end
	// with ErrTooManyConns, and an Accept stays pending until one is closed: see
	// Stats.AcceptStalls. Default: 2^20. Limit: 2^24 connections.
	MaxConns int

	// MaxEvents limits what a turn takes up of what the kernel reports, on epoll and kqueue: with fewer the first of
	// many messages waits for fewer others to be read, with more there are fewer system calls. On io_uring all reads
	// of a turn are one call, and it has no effect. Default, and limit: 128 events. At least 2: a wake may be one.
	MaxEvents int

	// Logger gets Warn for what needs an operator: io_uring not available where BackendAuto wanted
	// it, connections that wait to be accepted for lack of descriptors, memory that the kernel did not
	// return. Default: slog.Default().
	Logger *slog.Logger
}

const (
	defaultSwapSize  = 64 << 10
	maxSwapSize      = 1 << 30
	defaultMaxQueued = 1024
	maxMaxQueued     = 1 << 20

	defaultQueuedBytes  = 64 << 20
	defaultWatcherBytes = 1 << 30
	maxQueuedBytes      = 1 << 40
	defaultMaxConns     = 1 << 20
	maxMaxConns         = 1 << 24
)

// normal returns o with its defaults filled in, or an *evenkeel.OptionError.
func (o Options) normal() (Options, error) {
	switch {
	case o.SwapSize < 0 || o.SwapSize > maxSwapSize:
		return o, evenkeel.NewOptionError("aio.Options", "SwapSize",
			"%d is not a size: write 1 to %d bytes, or 0 for %d", o.SwapSize, maxSwapSize, defaultSwapSize)
	case o.MaxQueued < 0 || o.MaxQueued > maxMaxQueued:
		return o, evenkeel.NewOptionError("aio.Options",
			"MaxQueued", "%d is not a limit: write 1 to %d operations, or 0 for %d", o.MaxQueued, maxMaxQueued,
			defaultMaxQueued)
	case o.MaxQueuedBytes < 0 || o.MaxQueuedBytes > maxQueuedBytes:
		return o, evenkeel.NewOptionError("aio.Options", "MaxQueuedBytes",
			"%d is not a limit: write 1 to %d bytes, or 0 for %d", o.MaxQueuedBytes, int64(maxQueuedBytes),
			defaultQueuedBytes)
	case o.MaxWatcherBytes < 0 || o.MaxWatcherBytes > maxQueuedBytes:
		return o, evenkeel.NewOptionError("aio.Options", "MaxWatcherBytes",
			"%d is not a limit: write 1 to %d bytes, or 0 for %d", o.MaxWatcherBytes, int64(maxQueuedBytes),
			defaultWatcherBytes)
	case o.MaxConns < 0 || o.MaxConns > maxMaxConns:
		return o, evenkeel.NewOptionError("aio.Options",
			"MaxConns", "%d is not a limit: write 1 to %d connections, or 0 for %d", o.MaxConns, maxMaxConns,
			defaultMaxConns)
	case o.MaxEvents < 0 || o.MaxEvents == 1 || o.MaxEvents > proactor.MaxEvents:
		return o, evenkeel.NewOptionError("aio.Options",
			"MaxEvents", "%d is not a limit: write 2 to %d events, or 0 for %d", o.MaxEvents, proactor.MaxEvents,
			proactor.MaxEvents)
	case !backendNames.Has(o.Backend):
		return o, evenkeel.NewOptionError("aio.Options", "Backend",
			"%d is no backend: write BackendAuto, BackendIOUring, BackendEpoll or BackendKqueue", o.Backend)
	}
	o.SwapSize = cmp.Or(o.SwapSize, defaultSwapSize)
	o.MaxQueued = cmp.Or(o.MaxQueued, defaultMaxQueued)
	o.MaxQueuedBytes = cmp.Or(o.MaxQueuedBytes, defaultQueuedBytes)
	o.MaxWatcherBytes = cmp.Or(o.MaxWatcherBytes, defaultWatcherBytes)
	o.MaxConns = cmp.Or(o.MaxConns, defaultMaxConns)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o, nil
}
