package aio

import "evenkeel.dev/internal/enum"

// Backend names how the operating system is asked. Its text form, which flag.TextVar and
// encoding/json use, is auto, io_uring, epoll or kqueue.
type Backend int

const (
	// BackendIOUring where the kernel permits it, else BackendEpoll; BackendKqueue on macOS and the BSDs
	BackendAuto    Backend = iota
	BackendIOUring         // Linux 5.6 and later, with epoll
	BackendEpoll           // Linux
	BackendKqueue          // macOS, FreeBSD, OpenBSD, NetBSD, DragonFly BSD
)

var backendNames = enum.Of[Backend]("aio", "a backend", "auto", "io_uring", "epoll", "kqueue")

// String returns the backend's name: auto, io_uring, epoll or kqueue.
func (b Backend) String() string { return backendNames.String(b) }

// MarshalText implements encoding.TextMarshaler. It fails for what is no backend.
func (b Backend) MarshalText() ([]byte, error) { return backendNames.Marshal(b) }

// UnmarshalText implements encoding.TextUnmarshaler. Another text is an error that names the four.
func (b *Backend) UnmarshalText(text []byte) error { return backendNames.Parse(text, b) }

// Op says what an operation is. Its text form is read, write, post, close_write, close, accept or dial.
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

// String returns the operation's name: read, write, post, close_write, close, accept or dial.
func (o Op) String() string { return opNames.String(o) }

// MarshalText implements encoding.TextMarshaler. It fails for what is no operation.
func (o Op) MarshalText() ([]byte, error) { return opNames.Marshal(o) }

// UnmarshalText implements encoding.TextUnmarshaler. Another text is an error that names all.
func (o *Op) UnmarshalText(text []byte) error { return opNames.Parse(text, o) }
