package aio

import (
	"log/slog"
	"runtime"
	"sync"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// Result is an operation that is over.
type Result struct {
	Op   Op
	Tag  any   // of the submission
	Conn *Conn // of the operation. For an accept or a dial the new one. Nil for a post, and with an error

	// Buffer is the buffer of the submission, which the caller owns again. Buffer[:Size] was
	// transferred. After a read with a nil buffer, Swap is set and Buffer is part of the swap
	// buffer, valid until the next WaitIO. It is nil after a Writev, and if the kernel kept the
	// buffer. See Watcher.Close.
	Buffer []byte
	Swap   bool
	Size   int

	// Error is nil, io.EOF at the peer's end, ErrDeadline, ErrCancelled, ErrClosed,
	// ErrWatcherClosed, or a syscall.Errno such as ECONNRESET. It is not wrapped. For a refused
	// operation it is the reason. See Conn.Read.
	Error error

	// More says that the operation, an AcceptMultishot, goes on and has other Results.
	More bool
}

// Stats counts what a Watcher did since it was made.
type Stats struct {
	Backend     string
	Conns       int   // open connections
	Listeners   int   // open listeners
	Pending     int   // operations submitted and not yet over
	QueuedBytes int64 // of writes that WaitIO has not returned. See Options.MaxWatcherBytes

	Operations, Results     uint64 // begun, and returned by WaitIO. Each connection of an AcceptMultishot counts
	Refused                 uint64 // results of operations that were not begun. See Conn.Read
	BytesRead, BytesWritten uint64
	Accepted, Dialled       uint64 // connections
	AcceptStalls            uint64 // accepts that waited because descriptors or memory were missing
	Cancelled               uint64 // at their deadline, by Cancel or by Shutdown
	Expired                 uint64 // at their deadline
	// time from the deadline to the end of these: the sum and the maximum
	Late, LateMax time.Duration
	SwapFull      uint64 // reads that found the swap buffer full and waited for the next WaitIO
	Leaked        uint64 // operations whose memory the kernel did not return. See Close
	Polls, Waits  uint64 // times the kernel was asked for events, and waited for
}

// Watcher carries out operations on the connections that are attached to it. Any goroutine may call its
// methods, but only one at a time is in WaitIO. New makes one. Close or Shutdown ends it. A Watcher that
// nothing refers to any more is closed by the garbage collector, which logs a warning.
//
// Lock order: waiting, mu, subs.mu.
type Watcher struct {
	options Options
	backend proactor.Backend
	start   time.Time // deadlines count from it
	cleanup runtime.Cleanup
	posts   proactor.Desc // the operations of Post belong to it. It has no descriptor

	waiting sync.Mutex // held by the goroutine in WaitIO
	loop    struct {   // guarded by waiting
		results []Result
		moved   int           // transfers since WaitIO looked at the clock
		yielded time.Duration // when other goroutines last ran
		skipped bool          // the last turn did not ask the kernel
		passing passing
	}

	mu        sync.Mutex
	ended     proactor.Queue // WaitIO returns these
	pending   int            // operations that have begun and have not ended
	polled    []*proactor.Op
	deadlines deadlines
	late      []*proactor.Op // scratch of expire
	stats     Stats

	fair struct { // guarded by mu: descriptors that wait for their turn
		fresh line // these have a new operation
		again line // these had a turn and have more to do
		ahead int  // transfers that fresh has begun more than again, while neither was empty
	}
	idle struct { // guarded by mu
		sleeper proactor.Sleeper // the backend, or nil
		spare   proactor.Queue   // operations of silent connections, for those that wake up
		spares  int
	}
	memory struct { // guarded by mu: what lacked memory, the kernel's or the swap buffer's
		starved line // for a transfer
		retried line // for the same transfer, again
		refused bool // for all that the backend was to submit
	}
	swap struct { // guarded by mu
		buf  []byte
		used int
		held bool // an operation that was not returned has a part of it
	}
	table struct { // guarded by mu
		descs     []*proactor.Desc // each at its Index
		listeners int              // how many of them are listeners
		leaving   []*proactor.Desc // to be released: their Closing is over, or their Connect failed
		last      *place           // of the newest connection: many have the same
	}
	accepts struct { // guarded by mu
		unused  *Conn            // for the next connection, if there is one
		arrived *Conn            // accepted: from over to finish
		stalled []*proactor.Desc // listeners that lack descriptors for their connections
		until   time.Duration    // when these are tried again, since start
		warned  bool             // the Logger has a warning
	}
	ending struct { // guarded by mu
		closed  bool          // the backend is closed
		drained chan struct{} // Shutdown waits for its close, when nothing is pending. Or nil
	}

	subs submissions
}

// submissions are operations on their way to WaitIO, and the memory for them.
type submissions struct {
	mu      sync.Mutex
	descs   line           // with submissions
	count   int            // of their submissions
	refused proactor.Queue // submitted, and over with an error
	bytes   int64          // of writes that were not returned
	spare   proactor.Queue // operations for reuse
	spares  int
	vecs    []*proactor.Vec // for reuse
	asleep  bool            // the goroutine in WaitIO has to be woken
	closed  bool            // no more submissions
}

// New returns a Watcher. It fails with an *evenkeel.OptionError, with an error that matches errors.ErrUnsupported if the
// system lacks the backend, and with a syscall.Errno if the process has no more descriptors.
func New(o Options) (*Watcher, error) {
	o, err := o.normal()
	if err != nil {
		return nil, err
	}
	b, err := open(o)
	if err != nil {
		return nil, err
	}
	return newWatcher(o, b), nil
}

func newWatcher(o Options, b proactor.Backend) *Watcher {
	w := &Watcher{options: o, backend: b, start: time.Now()}
	if !b.Recycle() {
		w.swap.buf = make([]byte, o.SwapSize)
	}
	if s, ok := b.(proactor.Sleeper); ok {
		w.idle.sleeper = s
		s.OnEdge(w.revive)
	}
	if h, ok := b.(proactor.Holder); ok {
		w.cleanup = runtime.AddCleanup(w, closeForgotten, forgotten{h.Holds(), o.Logger})
	}
	return w
}

// forgotten is what is left of a Watcher that nothing refers to and that was not closed.
type forgotten struct {
	held   *proactor.Held
	logger *slog.Logger
}

func closeForgotten(f forgotten) {
	n := f.held.Close()
	f.logger.Warn("aio: a Watcher was garbage collected before it was closed; call its Close", "closed", n)
}

func init() {
	proactor.NewWatcher = func(options any, b proactor.Backend) (any, error) {
		o, err := options.(Options).normal()
		if err != nil {
			return nil, err
		}
		return newWatcher(o, b), nil
	}
}

// Stats returns counters since New. It takes a lock that WaitIO holds while it works.
func (w *Watcher) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	s.Backend, s.Conns, s.Pending = w.backend.Name(), len(w.table.descs)-w.table.listeners, w.pending
	s.Listeners = w.table.listeners
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock()
	s.Pending += w.subs.count
	s.QueuedBytes = w.subs.bytes
	return s
}

func (w *Watcher) now() time.Duration { return time.Since(w.start) }

// wake ends a wait. The caller holds mu.
func (w *Watcher) wake() {
	if w.ending.closed {
		return
	}
	w.subs.mu.Lock()
	w.wakeLocked()
	w.subs.mu.Unlock()
}

// wakeLocked is wake for a caller that holds subs.mu and knows that the watcher is open. The
// backend must not be woken after its Close.
func (w *Watcher) wakeLocked() {
	if w.subs.asleep {
		w.subs.asleep = false
		w.backend.Wake()
	}
}
