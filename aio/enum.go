package aio

import "evenkeel.dev/internal/enum"

// Backend is a kernel interface. Its text is auto, io_uring, epoll or kqueue.
type Backend int

const (
	// BackendAuto is io_uring if the kernel permits it, else epoll. It is kqueue on macOS and the
	// BSDs.
	BackendAuto    Backend = iota
	BackendIOUring         // Linux 5.6 and later, with epoll
	BackendEpoll           // Linux
	BackendKqueue          // macOS, FreeBSD, OpenBSD, NetBSD, DragonFly BSD
)

var backendNames = enum.Of[Backend]("aio", "a backend", "auto", "io_uring", "epoll", "kqueue")

// String returns the backend's name: auto, io_uring, epoll or kqueue.
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

// MarshalText implements encoding.TextMarshaler.
func (o Op) MarshalText() ([]byte, error) { return opNames.Marshal(o) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *Op) UnmarshalText(text []byte) error { return opNames.Parse(text, o) }
