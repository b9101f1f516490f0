package aiotest

import (
	"net"
	"testing"

	"evenkeel.dev"
	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/aiosuite"
)

// Options configures the network in memory below a Watcher. The zero value works.
type Options struct {
	// Readiness makes transfers end at once if they can, like epoll. Default: false, like io_uring,
	// where all end later.
	Readiness bool

	// Seed seeds the faults. Default: 0, a valid seed.
	Seed uint64

	// Faults says what goes wrong. Default: nothing.
	Faults Faults
}

// Faults are probabilities from 0 to 1. With a 1 of any but Again, Delay and Reorder, operations
// never end.
type Faults struct {
	ShortRead     float64 // a receive takes less than is there
	ShortWrite    float64 // a send takes less than there is room for
	Again         float64 // a transfer wrongly finds that it cannot
	Spurious      float64 // a read is wrongly reported as possible
	Delay         float64 // a transfer, or its completion, takes up to 2 ms
	Reorder       float64 // completions come in any order, or in part
	NoBuffers     float64 // a send finds no kernel memory
	NoDescriptors float64 // an accept finds no free descriptor
	Cancelled     float64 // the kernel cancels an operation by itself
	LateCancel    float64 // a cancellation comes after the transfer
}

// AllFaults returns Faults with all of them, often.
func AllFaults() Faults { return Faults(aiosuite.AllFaults) }

func (f *Faults) check() error {
	for _, s := range []struct {
		name  string
		value float64
	}{
		{"ShortRead", f.ShortRead},
		{"ShortWrite", f.ShortWrite},
		{"Again", f.Again},
		{"Spurious", f.Spurious},
		{"Delay", f.Delay},
		{"Reorder", f.Reorder},
		{"NoBuffers", f.NoBuffers},
		{"NoDescriptors", f.NoDescriptors},
		{"Cancelled", f.Cancelled},
		{"LateCancel", f.LateCancel},
	} {
		if !(s.value >= 0 && s.value <= 1) { // false for NaN
			return evenkeel.NewOptionError("aiotest.Options", "Faults."+s.name,
				"%g is no share: write 0 (never) to 1 (always), as 0.05 for one in twenty", s.value)
		}
	}
	return nil
}

// NewWatcher returns a Watcher for the connections of [Pair] and [Listen] only. It ignores
// w.Backend. It fails with an [*evenkeel.OptionError] for o, and as aio.New does for w.
func NewWatcher(w aio.Options, o Options) (*aio.Watcher, error) {
	if err := o.Faults.check(); err != nil {
		return nil, err
	}
	mode := aiosuite.Completion
	if o.Readiness {
		mode = aiosuite.Readiness
	}
	return aiosuite.NewWatcher(w, aiosuite.NewBackend(aiosuite.Options{
		Mode: mode, Seed: o.Seed,
		Faults: aiosuite.Faults(o.Faults),
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

// Sockets returns the ends of a connection of the operating system, over loopback "tcp" or over
// "unix", with buffers of 64 KiB. The caller closes them. It ends the test if it cannot make them.
func Sockets(t testing.TB, network string) (a, b net.Conn) {
	t.Helper()
	return aiosuite.Sockets(t, network)
}
