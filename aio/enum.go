package aio

import (
	"fmt"
	"slices"
	"strings"
)

// Backend names how the operating system is asked. Its text form, which flag.TextVar and
// encoding/json use, is auto, io_uring, epoll or kqueue.
type Backend int

const (
	BackendAuto    Backend = iota // BackendIOUring where the kernel permits it, else BackendEpoll; BackendKqueue on macOS and the BSDs
	BackendIOUring                // Linux 5.6 and later, with epoll
	BackendEpoll                  // Linux
	BackendKqueue                 // macOS, FreeBSD, OpenBSD, NetBSD, DragonFly BSD
)

var backendNames = []string{BackendAuto: "auto", BackendIOUring: "io_uring", BackendEpoll: "epoll", BackendKqueue: "kqueue"}

// String returns the backend's name: auto, io_uring, epoll or kqueue.
func (b Backend) String() string { return nameOf(int(b), backendNames, "Backend") }

// MarshalText implements encoding.TextMarshaler. It fails for what is no backend.
func (b Backend) MarshalText() ([]byte, error) { return marshal(int(b), backendNames, "backend") }

// UnmarshalText implements encoding.TextUnmarshaler. Another text is an error that names the four.
func (b *Backend) UnmarshalText(text []byte) error {
	i, err := unmarshal(text, backendNames, "backend")
	if err == nil {
		*b = Backend(i)
	}
	return err
}

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

var opNames = []string{OpRead: "read", OpWrite: "write", OpPost: "post", OpCloseWrite: "close_write", OpClose: "close", OpAccept: "accept", OpDial: "dial"}

// String returns the operation's name: read, write, post, close_write, close, accept or dial.
func (o Op) String() string { return nameOf(int(o), opNames, "Op") }

// MarshalText implements encoding.TextMarshaler. It fails for what is no operation.
func (o Op) MarshalText() ([]byte, error) { return marshal(int(o), opNames, "operation") }

// UnmarshalText implements encoding.TextUnmarshaler. Another text is an error that names all.
func (o *Op) UnmarshalText(text []byte) error {
	i, err := unmarshal(text, opNames, "operation")
	if err == nil {
		*o = Op(i)
	}
	return err
}

// nameOf returns the name of a constant, or TYPE(NUMBER) when it has none.
func nameOf(i int, names []string, typ string) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("%s(%d)", typ, i)
	}
	return names[i]
}

func marshal(i int, names []string, what string) ([]byte, error) {
	if i < 0 || i >= len(names) {
		return nil, fmt.Errorf("aio: %d is no %s", i, what)
	}
	return []byte(names[i]), nil
}

func unmarshal(text []byte, names []string, what string) (int, error) {
	i := slices.Index(names, string(text))
	if i < 0 {
		last := len(names) - 1
		return 0, fmt.Errorf("aio: no %s %q: it is %s or %s", what, text, strings.Join(names[:last], ", "), names[last])
	}
	return i, nil
}
