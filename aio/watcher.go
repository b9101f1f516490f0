package aio

import (
	"sync"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// Result is an operation that is over.
type Result struct {
	Op   Op
	Tag  any   // what it was submitted with
	Conn *Conn // whose operation it was; of an accept or a dial the new one, nil with an error; nil of a post

	// Buffer is the caller's buffer, theirs again. For a read without one, it is the part of the
	// watcher's swap buffer that was read into (Swap), valid until the next WaitIO. Buffer[:Size]
	// was transferred. It is nil of a Writev, and where the kernel kept the caller's: see Watcher.Close.
	Buffer []byte
	Swap   bool
	Size   int

	// Error is nil, io.EOF when the peer has ended, ErrDeadline, ErrCancelled, ErrClosed or ErrWatcherClosed when
	// the connection or the watcher was closed meanwhile, or a syscall.Errno such as ECONNRESET. It
	// is not wrapped. Of an operation that was refused it is the reason: see Conn.Read.
	Error error

	// More says that the operation goes on, and that other Results of it follow: of an
	// AcceptMultishot.
	More bool
}

// Stats counts what a Watcher did since it was made.
type Stats struct {
	Backend     string // the one in use
	Conns       int    // attached, accepted or dialled, and not closed
	Listeners   int    // not closed
	Pending     int    // operations submitted and not yet over
	QueuedBytes int64  // of writes that WaitIO has not returned: see Options.MaxWatcherBytes

	Operations, Results     uint64 // begun, and returned by WaitIO: with each connection of an AcceptMultishot
	Refused                 uint64 // of Results, those that were not begun: see Conn.Read
	BytesRead, BytesWritten uint64
	Accepted, Dialled       uint64 // connections
	AcceptStalls            uint64 // how often one waited to be accepted for lack of descriptors or memory
	Cancelled               uint64 // at their deadline, by Cancel or by Shutdown
	Expired                 uint64 // at their deadline
	// how long after their deadline these were ended: all together, and the latest
	Late, LateMax time.Duration
	SwapFull      uint64 // how often a read found the swap buffer full and waited for the next WaitIO
	Leaked        uint64 // whose memory the kernel did not return: see Close
	Polls, Waits  uint64 // how often the kernel was asked, and how often waited for
}

// Watcher carries out operations on the connections that are attached to it. Its methods may be
// called by any goroutine, WaitIO by one at a time. New makes one; Close or Shutdown ends it.
//
// Lock order: waiting, mu, subMu.
type Watcher struct {
	options Options
	backend proactor.Backend
	start   time.Time     // deadlines count from it
	posts   proactor.Desc // whose operations Post's are. It has no descriptor

	waiting   sync.Mutex // held by the goroutine in WaitIO, to which the next five belong
	results   []Result
	unyielded int           // transfers since the clock was looked at
	yielded   time.Duration // when other goroutines last had their turn
	skipped   bool          // the last turn did not ask the kernel
	passing   passing

	mu           sync.Mutex
	ended        proactor.Queue // to be returned
	fresh        line           // what waits for its turn: has come anew,
	again        line           // had one and has more to do
	lead         int            // transfers that fresh has begun more than again, while both had some
	pending      int            // begun, not ended
	polled       []*proactor.Op
	late         []*proactor.Op // expire's
	deadlines    deadlines
	sleeper      proactor.Sleeper // the backend, or nil
	beds         proactor.Queue   // operations of those that doze, for those that wake up
	empty        int              // how many
	starved      line             // for whose transfers there was no memory,
	retried      line             // and again as they were retried
	leaving      []*proactor.Desc // to be released, as their Closing is over, or their Connect failed
	busy         bool             // the backend could not submit all, for lack of memory
	swap         []byte
	swapUsed     int
	swapHeld     bool             // by operations that have ended and were not returned
	conns        []*proactor.Desc // each at its Index
	listeners    int              // of conns, those of a Listener
	unused       *Conn            // for the next connection to accept, if there is one
	arrived      *Conn            // accepted: from over to finish
	stalled      []*proactor.Desc // listeners for whose connections there were no descriptors
	stalledUntil time.Duration    // when these are tried again, since start
	stallWarned  bool             // the Logger was told
	last         *place           // of the connection that was attached last: many have the same
	closed       bool             // the backend is closed
	drained      chan struct{}    // not nil: Shutdown waits until nothing is pending, which closes it
	stats        Stats

	subMu       sync.Mutex
	subs        line           // with submissions
	refused     proactor.Queue // submitted, and over with an error
	submitted   int            // how many
	queuedBytes int64          // of writes that were not returned
	spare       proactor.Queue // operations for reuse
	spares      int
	vecs        []*proactor.Vec // for reuse
	asleep      bool            // the goroutine in WaitIO has to be woken
	refuses     bool            // no more submissions
}

// New returns a Watcher. It fails with an *evenkeel.OptionError, with an *UnsupportedError where the system
// lacks the backend, and with a syscall.Errno when the process has no more descriptors.
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

// newWatcher returns a Watcher over a backend.
func newWatcher(o Options, b proactor.Backend) *Watcher {
	w := &Watcher{options: o, backend: b, start: time.Now()}
	if !b.Recycle() {
		w.swap = make([]byte, o.SwapSize)
	}
	if s, ok := b.(proactor.Sleeper); ok {
		w.sleeper = s
		s.OnEdge(w.revive)
	}
	return w
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

// Stats returns counters since the Watcher was made. It costs a lock that WaitIO holds while it
// works.
func (w *Watcher) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	s.Backend, s.Conns, s.Pending = w.backend.Name(), len(w.conns)-w.listeners, w.pending
	s.Listeners = w.listeners
	w.subMu.Lock()
	defer w.subMu.Unlock()
	s.Pending += w.submitted
	s.QueuedBytes = w.queuedBytes
	return s
}

func (w *Watcher) now() time.Duration { return time.Since(w.start) }

// wake ends a wait: there may be something to return, or a cancellation to submit. The caller
// holds mu.
func (w *Watcher) wake() {
	if w.closed {
		return
	}
	w.subMu.Lock()
	w.wakeLocked()
	w.subMu.Unlock()
}

// wakeLocked ends a wait. The caller holds subMu and knows that the watcher is open: the backend
// could not be woken after its Close.
func (w *Watcher) wakeLocked() {
	if w.asleep {
		w.asleep = false
		w.backend.Wake()
	}
}
