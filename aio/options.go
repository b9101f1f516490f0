package aio

import (
	"cmp"
	"log/slog"

	"evenkeel.dev"
	"evenkeel.dev/aio/internal/proactor"
	"evenkeel.dev/internal/enum"
)

// Options configures a Watcher. The zero value works.
type Options struct {
	// Backend is the kernel interface. Default: BackendAuto.
	Backend Backend

	// SwapSize is the size of the swap buffer in bytes, which reads of one WaitIO without a buffer
	// share. Reads that find less than half of it left wait for the next WaitIO. io_uring joins a
	// read that reaches the end of a quarter in other memory, of up to twice SwapSize. Default: 64
	// KiB. Limit: 1 GiB.
	SwapSize int

	// MaxQueued is how many operations of a connection, and how many posts, WaitIO may not have
	// returned yet. One more is refused with ErrQueueFull. Default: 1024. Limit: 2^20.
	MaxQueued int

	// MaxQueuedBytes bounds the bytes of a connection's writes that WaitIO has not returned, and
	// MaxWatcherBytes those of all connections. A write beyond them is refused with ErrQueueFull,
	// unless nothing is queued. Calls of package netconn wait instead. Defaults: 64 MiB and 1 GiB.
	// Limit: 2^40.
	MaxQueuedBytes, MaxWatcherBytes int64

	// MaxConns is how many connections may be open. Beyond it Attach and Dial fail with
	// ErrTooManyConns, and an Accept stays pending. Default: 2^20. Limit: 2^24.
	MaxConns int

	// MaxEvents is how many kernel events a turn takes on epoll and kqueue. Fewer make the first of
	// many messages wait less. More save system calls. Default and limit: 128. At least 2.
	MaxEvents int

	// Logger gets a Warn if io_uring is missing, if accepts wait for descriptors, or if a Watcher was
	// forgotten. Default: slog.Default().
	Logger *slog.Logger
}

func (o Options) normal() (Options, error) {
	for _, err := range []error{
		bound("SwapSize", &o.SwapSize, 1, 1<<30, 64<<10, "bytes"),
		bound("MaxQueued", &o.MaxQueued, 1, 1<<20, 1024, "operations"),
		bound("MaxQueuedBytes", &o.MaxQueuedBytes, 1, 1<<40, 64<<20, "bytes"),
		bound("MaxWatcherBytes", &o.MaxWatcherBytes, 1, 1<<40, 1<<30, "bytes"),
		bound("MaxConns", &o.MaxConns, 1, 1<<24, 1<<20, "connections"),
		bound("MaxEvents", &o.MaxEvents, 2, proactor.MaxEvents, proactor.MaxEvents, "events"),
	} {
		if err != nil {
			return o, err
		}
	}
	if !backendNames.Has(o.Backend) {
		return o, evenkeel.NewOptionError("aio.Options", "Backend",
			"%d is not a backend: write BackendAuto, BackendIOUring, BackendEpoll or BackendKqueue", o.Backend)
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o, nil
}

// bound checks an option, and gives it its default if it is 0.
func bound[N int | int64](option string, value *N, least, most, unset N, unit string) error {
	if *value != 0 && (*value < least || *value > most) {
		return evenkeel.NewOptionError("aio.Options", option,
			"%d is out of range: write %d to %d %s, or 0 for %d", *value, least, most, unit, unset)
	}
	*value = cmp.Or(*value, unset)
	return nil
}

// Backend is a kernel interface. Its text is auto, io_uring, epoll or kqueue.
type Backend int

const (
	// BackendAuto is io_uring if the kernel permits it, else epoll, and kqueue on macOS and the
	// BSDs.
	BackendAuto    Backend = iota
	BackendIOUring         // Linux 5.6 and later, with epoll
	BackendEpoll           // Linux
	BackendKqueue          // macOS, FreeBSD, OpenBSD, NetBSD, DragonFly BSD
)

var backendNames = enum.Of[Backend]("aio", "a backend", "auto", "io_uring", "epoll", "kqueue")

// String returns the backend's name.
func (b Backend) String() string { return backendNames.String(b) }

// MarshalText implements encoding.TextMarshaler.
func (b Backend) MarshalText() ([]byte, error) { return backendNames.Marshal(b) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Backend) UnmarshalText(text []byte) error { return backendNames.Parse(text, b) }

// Op is a kind of operation. Its text is read, write, post, close_write, close, accept or dial.
type Op int

const (
	OpRead       Op = iota // Conn.Read or Conn.ReadFull
	OpWrite                // Conn.Write or Conn.Writev
	OpPost                 // Watcher.Post
	OpCloseWrite           // Conn.CloseWrite
	OpClose                // Conn.CloseAfterWrites
	OpAccept               // Listener.Accept
	OpDial                 // Watcher.Dial
)

var opNames = enum.Of[Op]("aio", "an operation",
	"read", "write", "post", "close_write", "close", "accept", "dial")

// String returns the operation's name.
func (o Op) String() string { return opNames.String(o) }
