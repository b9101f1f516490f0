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
	// Readiness has transfers go in the way of epoll: at once where they can. Default: false, in the
	// way of io_uring, where all of them come back later, cancelled ones too.
	Readiness bool

	// Seed draws the faults. Default: 0, which is a seed like others.
	Seed uint64

	// Faults says what goes wrong. Default: nothing. AllFaults returns all of them.
	Faults Faults
}

// Faults says how often what goes wrong, each from 0 (never) to 1 (always). A 1 of Again, Delay or
// Reorder is as good as less; a 1 of another has operations never end.
type Faults struct {
	ShortRead     float64 // a receive takes less than is there
	ShortWrite    float64 // a send takes less than there is room for
	Again         float64 // a transfer finds that it cannot, though it could
	Spurious      float64 // a read is said to be possible, and is not
	Delay         float64 // a transfer, or its completion, takes up to 2 ms
	Reorder       float64 // completions come in any order, or only some of them
	NoBuffers     float64 // a send finds that the kernel has no memory
	NoDescriptors float64 // an accept finds no descriptor free
	Cancelled     float64 // the kernel cancels an operation that nobody has cancelled
	LateCancel    float64 // a cancellation comes too late when the transfer was possible
}

// AllFaults returns Faults with all of them, often.
func AllFaults() Faults { return Faults(aiosuite.AllFaults) }

// check returns an [*evenkeel.OptionError] for a share that is none.
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
		if !(s.value >= 0 && s.value <= 1) { // a NaN is neither
			return evenkeel.NewOptionError("aiotest.Options", "Faults."+s.name,
				"%g is no share: write 0 (never) to 1 (always), as 0.05 for one in twenty", s.value)
		}
	}
	return nil
}

// NewWatcher returns a Watcher that takes the ends of [Pair] and what [Listen] returns, and nothing
// else. It fails with an [*evenkeel.OptionError] for o, and as aio.New does for w that it refuses; w.Backend
// is not looked at.
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

// Conn is one end of a connection in memory: an ordinary net.Conn that blocks, has deadlines, and
// may be used by any goroutine, until a Watcher has it.
type Conn interface {
	net.Conn

	// CloseWrite ends this side's sending: the peer finds the end after what was sent.
	CloseWrite() error

	// Reset closes this end such that the peer finds ECONNRESET.
	Reset() error
}

// Pair returns the two ends of a new connection in memory: mostly the one is for a Watcher, and the
// other stays the test's. Each holds at most so many bytes that have arrived and are not read.
func Pair(buffer int) (a, b Conn) { return aiosuite.Pair(buffer) }

// Listener is a listener in memory: an ordinary net.Listener, until a Watcher's AttachListener has
// it.
type Listener interface {
	net.Listener

	// Dial makes a connection to the listener, of which it returns the peer's end, a [Conn]. It
	// fails with ECONNREFUSED when the listener is closed, or 1,024 connections wait to be
	// accepted.
	Dial() (net.Conn, error)
}

// Listen returns a new listener in memory, whose connections are as those of [Pair].
func Listen(buffer int) Listener { return aiosuite.NewListener(buffer) }

// Sockets returns the two ends of a connection of the operating system, over loopback "tcp" or over
// "unix", with buffers of 64 KiB. It ends the test when it cannot; closing them is the caller's.
func Sockets(t testing.TB, network string) (a, b net.Conn) {
	t.Helper()
	return aiosuite.Sockets(t, network)
}
