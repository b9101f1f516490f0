package aiotest

import (
	"net"

	"evenkeel.dev"
	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/aiosuite"
)

// Options configures the network in memory below a Watcher. The zero value works.
type Options struct {
	// Readiness makes transfers end at once if they can, like epoll. Default: false, like io_uring,
	// where all end later.
	Readiness bool

	// Seed selects the faults. Default: 0, a valid seed.
	Seed uint64

	// Faults is how often things go wrong. 1 means that every third transfer is short and every
	// tenth is cancelled. Default: 0, never. Limit: 1.
	Faults float64
}

// NewWatcher returns a Watcher for the connections of [Pair] and [Listen] only. It ignores
// w.Backend. It fails with an [*evenkeel.OptionError] for o, and as aio.New does for w.
func NewWatcher(w aio.Options, o Options) (*aio.Watcher, error) {
	if !(o.Faults >= 0 && o.Faults <= 1) { // false for NaN
		return nil, evenkeel.NewOptionError("aiotest.Options", "Faults",
			"%g is not a share: write 0 (never) to 1 (often)", o.Faults)
	}
	mode := aiosuite.Completion
	if o.Readiness {
		mode = aiosuite.Readiness
	}
	return aiosuite.NewWatcher(w, aiosuite.NewBackend(aiosuite.Options{
		Mode: mode, Seed: o.Seed, Faults: aiosuite.AllFaults(o.Faults),
	}))
}

// Conn is one end of a connection in memory. It is an ordinary net.Conn until a Watcher has it.
type Conn interface {
	net.Conn

	// CloseWrite ends the sending side. The peer reads io.EOF after what was sent.
	CloseWrite() error

	// Reset closes this end, and the peer gets ECONNRESET.
	Reset() error
}

// Pair returns the two ends of a new connection in memory. Each holds up to buffer unread bytes.
func Pair(buffer int) (a, b Conn) { return aiosuite.Pair(buffer) }

// Listener is a listener in memory. It is an ordinary net.Listener until a Watcher has it.
type Listener interface {
	net.Listener

	// Dial returns the peer's end of a new connection, a [Conn]. It fails with ECONNREFUSED if the
	// listener is closed, or if 1,024 connections wait.
	Dial() (net.Conn, error)
}

// Listen returns a new listener in memory. Its connections are like those of [Pair].
func Listen(buffer int) Listener { return aiosuite.NewListener(buffer) }
