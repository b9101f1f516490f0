package aio

import (
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// Result is an operation that is over.
type Result struct {
	Op   Op
	Tag  any   // of the submission
	Conn *Conn // of the operation, or the new one of an accept or a dial. Nil for a post, and if those fail

	// Buffer is the buffer of the submission, which the caller owns again. Buffer[:Size] was
	// transferred. After a read with a nil buffer, Swap is set and Buffer is valid until the next
	// WaitIO. It is nil after a Writev, and if io_uring kept it, which it should not. Then Error and
	// WaitIO say so, and the buffer is never freed.
	Buffer []byte
	Swap   bool
	Size   int

	// Error is nil, io.EOF at the peer's end, ErrDeadline, ErrCancelled, ErrClosed,
	// ErrWatcherClosed, a syscall.Errno such as ECONNRESET, or the reason of a refusal. It is not
	// wrapped.
	Error error

	// More says that an AcceptMultishot goes on.
	More bool
}

// Stats counts what a Watcher did since New.
type Stats struct {
	Backend     string
	Conns       int   // open
	Listeners   int   // open
	Pending     int   // operations submitted and not yet over
	QueuedBytes int64 // of writes that WaitIO has not returned

	Operations, Results     uint64 // begun, and returned by WaitIO, with each connection of an AcceptMultishot
	Refused                 uint64 // results of operations that were not begun
	BytesRead, BytesWritten uint64
	Accepted, Dialled       uint64 // connections
	AcceptStalls            uint64 // accepts that waited for descriptors or memory
	Cancelled               uint64 // at their deadline, by Cancel or by Shutdown
	Expired                 uint64 // at their deadline
	// from the deadline to the end of these: the sum and the maximum
	Late, LateMax time.Duration
	SwapFull      uint64 // reads that waited for the next WaitIO
	Polls, Waits  uint64 // times the kernel was asked for events, and waited for
	// time of these waits. In the rest of the time the goroutine in WaitIO was busy
	Waited time.Duration
}

// Watcher carries out operations on its connections. Any goroutine may call its methods, but only
// one at a time is in WaitIO. Close or Shutdown ends it. The garbage collector closes a forgotten
// Watcher, and Logger gets a Warn.
//
// Lock order: waiting, mu (of two Watchers by id), subs.mu.
type Watcher struct {
	options Options
	backend proactor.Backend
	start   time.Time
	id      uint64 // the lock order of two Watchers
	cleanup runtime.Cleanup
	posts   proactor.Desc // of Post. It has no descriptor
	conns   atomic.Int32  // open, and for a moment a new listener

	waiting sync.Mutex // held in WaitIO
	loop    struct {   // guarded by waiting
		results []Result
		moved   int           // transfers since the last look at the clock
		yielded time.Duration // when other goroutines last ran
		skipped bool          // the last turn did not ask the kernel
		passing passing
		asleep  time.Duration // when the wait began, or 0. Guarded by mu
	}

	mu        sync.Mutex     // guards the rest, without subs
	ended     proactor.Queue // for WaitIO
	pending   int            // begun, and not ended
	polled    []*proactor.Op
	deadlines deadlines
	late      []*proactor.Op // scratch of expire
	stats     Stats

	fair struct { // descriptors that wait for their turn
		fresh line // with a new operation
		again line // with more to do
		ahead int  // transfers of fresh beyond those of again, while neither was empty
	}
	idle struct {
		spare  proactor.Queue // operations, for connections that wake up
		spares int
	}
	memory struct { // what lacked memory, the kernel's or the swap buffer's
		starved line // for a transfer
		retried line // again, for the same transfer
		refused bool // all that the backend was to submit
	}
	swap struct {
		buf  []byte
		used int
		held bool // a result that was not returned has a part of it
	}
	table struct {
		descs     []*proactor.Desc // each at its Index
		listeners int
		leaving   []*proactor.Desc // to be released
		last      *place           // of the newest connection, which the next may share
	}
	accepts struct {
		unused  *Conn            // for the next connection
		arrived *Conn            // accepted: from over to finish
		stalled []*proactor.Desc // listeners that lack descriptors
		until   time.Duration    // they are tried again, since start
		warned  bool
	}
	ending struct {
		closed  bool
		drained chan struct{} // closed when nothing is pending. Nil without a Shutdown
	}

	subs submissions
}

// submissions are operations on their way to WaitIO, and the memory for them.
type submissions struct {
	mu      sync.Mutex
	descs   line // with submissions
	count   int
	refused proactor.Queue // with an error
	bytes   int64          // of writes that were not returned
	sending int            // descriptors with a TryWrite
	sent    uint64         // bytes of TryWrites
	spare   proactor.Queue
	spares  int
	vecs    []*proactor.Vec
	asleep  bool          // WaitIO has to be woken
	awake   time.Duration // when the last wait ended
	closed  bool
}

// New returns a Watcher. It fails with an *evenkeel.OptionError, with an error that matches
// errors.ErrUnsupported if the system lacks the backend, and with a syscall.Errno without
// descriptors.
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

var watchers atomic.Uint64 // made so far

func newWatcher(o Options, b proactor.Backend) *Watcher {
	w := &Watcher{options: o, backend: b, start: time.Now(), id: watchers.Add(1)}
	if !b.Recycle() {
		w.swap.buf = make([]byte, o.SwapSize)
	}
	b.OnEdge(w.revive)
	if held := b.Holds(); held != nil {
		w.cleanup = runtime.AddCleanup(w, closeForgotten, forgotten{held, o.Logger})
	}
	return w
}

// forgotten is what is left of a Watcher that was not closed.
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
	if from := w.loop.asleep; from > 0 && w.subs.awake > from {
		s.Waited += w.subs.awake - from
	} else if from > 0 {
		s.Waited += w.now() - from
	}
	s.Pending += w.subs.count
	s.QueuedBytes = w.subs.bytes
	s.BytesWritten += w.subs.sent
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

// wakeLocked is wake with subs.mu held. The backend must not be woken after its Close.
func (w *Watcher) wakeLocked() {
	if w.subs.asleep {
		w.subs.asleep = false
		w.backend.Wake()
	}
}
